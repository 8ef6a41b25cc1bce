// How many tests run concurrently, unless the caller of `swift test` says so.
//
// Swift Testing starts all tests together. With 1,500 of them on two processors each turn of a task came after hundreds of others:
// an origin's answer took up to 35 s, and clients under test gave up on a server that did nothing wrong. Eight keep both processors
// busy, and overlap as much as two tests can. Swift Testing reads the variable after the constructors of the program.
#include <stdlib.h>

__attribute__((constructor)) static void limit_parallel_tests(void) {
    setenv("SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH", "8", 0);
}
