// Without the trait this file is empty, because libpq may be missing.
#if defined(SLUICE_POSTGRESQL)

#include "CSluicePostgres.h"

// libpq's own processor prints notices to the standard error.
static void ignore_notice(void *context, const PGresult *result) {
    (void)context;
    (void)result;
}

PGconn *csluice_postgres_start(const char *const *keywords, const char *const *values) {
    // Expands the URL in the keyword `dbname`.
    PGconn *connection = PQconnectStartParams(keywords, values, 1);
    if (!connection) return NULL;
    PQsetNoticeReceiver(connection, ignore_notice, NULL);
    // Only this verbosity puts the SQLSTATE into an error of the connection, where PQresultErrorField can't be used.
    PQsetErrorVerbosity(connection, PQERRORS_VERBOSE);
    return connection;
}

int csluice_postgres_prepare(PGconn *connection) {
    PQsetErrorVerbosity(connection, PQERRORS_DEFAULT);
    return PQsetnonblocking(connection, 1) == 0 && PQenterPipelineMode(connection) == 1;
}

const char *csluice_postgres_sqlstate(const PGresult *result) { return PQresultErrorField(result, PG_DIAG_SQLSTATE); }

const char *csluice_postgres_message(const PGresult *result) { return PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY); }

const char *csluice_postgres_hint(const PGresult *result) { return PQresultErrorField(result, PG_DIAG_MESSAGE_HINT); }

#endif
