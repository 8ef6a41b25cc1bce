#pragma once

/// Lets another process set this one's wall clock forward or back: the file holds a number of seconds as eight bytes, in the order of the
/// machine, and may change at any time. Returns -1 if the file can't be mapped, or if the platform has no such shift.
int clock_shift_follow(const char *path);
