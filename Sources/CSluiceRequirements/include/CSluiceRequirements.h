#pragma once

// What the dependencies of SluiceHTTP expect of the system. Their own compilation fails with "file not found", which names
// no package; this names it.
#if !__has_include(<zlib.h>)
#error "zlib.h is missing. Install it and build again: apt-get install zlib1g-dev (Debian, Ubuntu), dnf install zlib-devel (Fedora)"
#endif
