#include "internal.h"

// Random access, mapped memory, preallocation.
