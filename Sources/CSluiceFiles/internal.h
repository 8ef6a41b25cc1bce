#pragma once

// Every file of this target includes this header first.

#define _GNU_SOURCE
#define _FILE_OFFSET_BITS 64

#include "CSluiceFiles.h"

/// Returns the descriptor, or a duplicate of it if it has the number of a standard stream that was closed: the program's output would
/// go to a file with that number. Returns the descriptor itself if no duplicate is possible. Child processes don't inherit the result.
int csluice_above_standard_streams(int descriptor);

/// Returns the call's result, or minus the error number.
#define RESULT(call) __typeof__(call) result = (call); return result < 0 ? -errno : result
