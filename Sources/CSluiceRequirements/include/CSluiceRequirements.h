#pragma once

// What GRDB, on which SluiceDatabase depends, expects of the system. Its own compilation fails with "file not found", which names no package;
// this names it.
#if !__has_include(<sqlite3.h>)
#error "sqlite3.h is missing. Install it and build again: apt-get install libsqlite3-dev (Debian, Ubuntu), dnf install sqlite-devel (Fedora)"
#endif
