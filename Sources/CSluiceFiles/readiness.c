#include "internal.h"

// Descriptors that are waited for.
