#pragma once

// What every file of this target begins with.

#define _GNU_SOURCE
#define _FILE_OFFSET_BITS 64

#include "CSluiceFiles.h"

/// The descriptor, or another of the same file if it has the number of a standard stream that is closed: a file with that number
/// would get what the process prints. Keeps the number if there is no other. Child processes do not inherit the descriptor.
int csluice_above_standard_streams(int descriptor);

/// Returns what the call returns, or minus the error number.
#define RESULT(call) __typeof__(call) result = (call); return result < 0 ? -errno : result
