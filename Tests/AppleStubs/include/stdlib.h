#pragma once

#include <stddef.h>

void abort(void) __attribute__((noreturn));
void free(void *);
void *malloc(size_t);
char *realpath(const char *, char *);
