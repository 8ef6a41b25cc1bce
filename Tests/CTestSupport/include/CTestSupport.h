// Nothing to call: see ParallelTests.c.
