#include "internal.h"

// Copies within the kernel.
