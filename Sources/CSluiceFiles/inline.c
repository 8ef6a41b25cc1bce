#include "internal.h"

// Calls that never wait for a device.
