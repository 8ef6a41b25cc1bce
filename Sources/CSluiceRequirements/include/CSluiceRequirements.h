#pragma once

// Checks the requirements of GRDB, on which SluiceDatabase depends. Without this check, compiling GRDB fails with "file not found", which
// doesn't name the missing package.
#if !__has_include(<sqlite3.h>)
#error "sqlite3.h is missing. Install it and build again: apt-get install libsqlite3-dev (Debian, Ubuntu), dnf install sqlite-devel (Fedora)"
#endif
