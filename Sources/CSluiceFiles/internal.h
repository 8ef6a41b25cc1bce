#pragma once

// What every file of this target begins with.

#define _GNU_SOURCE
#define _FILE_OFFSET_BITS 64

#include "CSluiceFiles.h"

/// Returns what the call returns, or minus the error number.
#define RESULT(call) __typeof__(call) result = (call); return result < 0 ? -errno : result
