// Name lookups that a test delays. The program's `getaddrinfo` takes precedence over the C library's, for libcurl too (ld.so(8)).
#define _GNU_SOURCE
#include "CTestSupport.h"

#if defined(__linux__)
#include <dlfcn.h>
#include <netdb.h>
#include <string.h>

static void (*_Atomic lookup)(const char *);

void ctest_set_lookup(void (*function)(const char *)) { lookup = function; }

int getaddrinfo(const char *name, const char *service, const struct addrinfo *hints, struct addrinfo **result) {
    static const char held[] = ".held.invalid";
    size_t length = name ? strlen(name) : 0;
    void (*function)(const char *) = lookup;
    if (function && length >= sizeof held - 1 && !strcmp(name + length - (sizeof held - 1), held)) {
        function(name);
        return EAI_AGAIN;
    }
    int (*next)(const char *, const char *, const struct addrinfo *, struct addrinfo **) = dlsym(RTLD_NEXT, "getaddrinfo");
    return next(name, service, hints, result);
}
#endif
