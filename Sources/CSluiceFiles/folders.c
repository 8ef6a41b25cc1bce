#include "internal.h"

// Folders and names relative to them.
