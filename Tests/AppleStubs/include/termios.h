#pragma once

#include <sys/types.h>

typedef unsigned long tcflag_t;
