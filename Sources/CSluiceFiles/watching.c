#include "internal.h"

// Change notification.
