#pragma once

// Wraps the parts of libpq that Swift can't use directly: macros with characters, and callbacks. Only code under the package trait
// PostgreSQL includes this header, so a build without the trait needs no libpq.

#if __has_include(<libpq-fe.h>)
#include <libpq-fe.h>
#elif __has_include(<postgresql/libpq-fe.h>)
#include <postgresql/libpq-fe.h>
#else
#error "libpq-fe.h is missing. Install it and build again: apt-get install libpq-dev (Debian, Ubuntu), dnf install libpq-devel (Fedora)"
#endif

#if !defined(LIBPQ_HAS_PIPELINING)
#error "This libpq is older than 14. Install a newer one and build again."
#endif

/// Begins to connect. `keywords` and `values` end with NULL. Blocks while names are looked up and files are read. Returns NULL if there
/// is no memory. Notices of the server aren't printed, and errors contain their SQLSTATE.
PGconn *_Nullable csluice_postgres_start(
    const char *_Nullable const *_Nonnull keywords, const char *_Nullable const *_Nonnull values);

/// Makes an open connection non-blocking, and turns the pipeline mode on. Returns whether that succeeded.
int csluice_postgres_prepare(PGconn *_Nonnull connection);

/// The SQLSTATE of a failed result, or NULL if the error isn't from the server.
const char *_Nullable csluice_postgres_sqlstate(const PGresult *_Nonnull result);

/// The message of the server, without details, which may contain data; or NULL if the error isn't from the server.
const char *_Nullable csluice_postgres_message(const PGresult *_Nonnull result);

/// The hint of the server, or NULL.
const char *_Nullable csluice_postgres_hint(const PGresult *_Nonnull result);
