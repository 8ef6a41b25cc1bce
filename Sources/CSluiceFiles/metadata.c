#include "internal.h"

// Times, modes, links, extended attributes.
