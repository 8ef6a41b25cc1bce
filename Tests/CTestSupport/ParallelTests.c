// Sets the number of concurrent tests, unless the caller of `swift test` sets it.
//
// Swift Testing starts all tests together. With 1,500 tests on two processors, each turn of a task came after hundreds of others:
// an answer of the origin took up to 35 s, and the clients gave up on a correct server. Eight tests keep both processors
// busy, and overlap as much as two tests can. Swift Testing reads the variable after the constructors of the program.
#include <stdlib.h>

__attribute__((constructor)) static void limit_parallel_tests(void) {
    setenv("SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH", "8", 0);
}
