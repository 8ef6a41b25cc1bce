#pragma once

// What the dependencies of SluiceHTTP and SluiceDatabase expect of the system. Their own compilation fails with "file not found", which names
// no package; this names it.
#if !__has_include(<zlib.h>)
#error "zlib.h is missing. Install it and build again: apt-get install zlib1g-dev (Debian, Ubuntu), dnf install zlib-devel (Fedora)"
#endif
#if !__has_include(<sqlite3.h>)
#error "sqlite3.h is missing. Install it and build again: apt-get install libsqlite3-dev (Debian, Ubuntu), dnf install sqlite-devel (Fedora)"
#endif
