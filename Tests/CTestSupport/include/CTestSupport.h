#pragma once

#if defined(__linux__)
/// Calls `function` on the resolver's thread for each lookup of a name below `held.invalid`, which then fails; NULL to look them up again.
void ctest_set_lookup(void (*_Nullable function)(const char *_Nonnull name));
#endif
