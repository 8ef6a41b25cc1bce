// What the samples in doc comments of declarations that are not public take for granted.
@testable import SluicePostgres

let host = ""
let url = "postgres://user@host/database"
let statements: [PostgresStatement] = []

var connection: PostgresConnection { fatalError() }
var database: PostgresDatabase { fatalError() }
var result: PostgresResult { fatalError() }

func work() async throws {}
