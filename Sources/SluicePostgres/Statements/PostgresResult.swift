#if PostgreSQL
internal import CSluicePostgres

/// The result of one statement: its rows, and the number of rows that it changed.
///
///     for row in result { try print(row.value("url", as: String.self)) }
///
/// It is the memory that libpq filled. Values are decoded when they are read.
package struct PostgresResult: Sendable, RandomAccessCollection {
    private let storage: Storage

    /// Takes the ownership of libpq's result.
    init(_ pointer: OpaquePointer) { storage = Storage(pointer) }

    package var startIndex: Int { 0 }
    package var endIndex: Int { storage.rows }
    package subscript(row: Int) -> PostgresRow {
        precondition(indices.contains(row), "A result with \(count) rows has no row \(row).")
        return PostgresRow(storage: storage, row: row)
    }

    /// The number of rows that the statement inserted, changed, deleted or returned.
    package var changedRows: Int { Int(String(cString: PQcmdTuples(storage.pointer))) ?? 0 }

    /// The server's name for what it did, such as `COMMIT`.
    var command: String { String(cString: PQcmdStatus(storage.pointer)) }

    /// The single value of the first row, such as a count; `nil` if there is no row.
    package func scalar<Value: PostgresDecodable>(as type: Value.Type = Value.self) throws -> Value? {
        try first?.value(at: 0, as: type)
    }

    /// Frees libpq's result with the last copy.
    final class Storage: @unchecked Sendable {
        // No lock: libpq doesn't change a complete result, and any number of threads may read it.
        let pointer: OpaquePointer
        let rows: Int
        let columns: Int

        init(_ pointer: OpaquePointer) {
            self.pointer = pointer
            rows = Int(PQntuples(pointer))
            columns = Int(PQnfields(pointer))
        }

        deinit { PQclear(pointer) }
    }
}

/// One row of a ``PostgresResult``.
package struct PostgresRow: Sendable {
    let storage: PostgresResult.Storage
    let row: Int

    /// Decodes a value by the name of its column. Pass an optional type if the value may be NULL.
    ///
    /// - Throws: ``PostgresError/Code/unexpectedValue`` if the value has another type, or is NULL, or if there is no such column: another
    ///   program may have changed a view or a function.
    package func value<Value: PostgresDecodable>(_ column: String, as type: Value.Type = Value.self) throws -> Value {
        // Quoted: libpq would convert the name to lowercase.
        let quoted = "\"\(column.replacing("\"", with: "\"\""))\""
        let index = Int(PQfnumber(storage.pointer, quoted))
        guard index >= 0 else {
            throw PostgresError(
                .unexpectedValue, subject: "column \(column)", message: "The result has no such column.",
                remedy: "Check that no other program has changed the tables.")
        }
        return try value(at: index, as: type)
    }

    /// Decodes a value by the index of its column. It behaves like the method that takes a name.
    package func value<Value: PostgresDecodable>(at column: Int, as type: Value.Type = Value.self) throws -> Value {
        precondition((0..<storage.columns).contains(column), "The result has no column \(column).")
        let (pointer, row, index) = (storage.pointer, CInt(row), CInt(column))
        var text: UnsafeRawBufferPointer?
        if PQgetisnull(pointer, row, index) == 0 {
            text = UnsafeRawBufferPointer(
                start: PQgetvalue(pointer, row, index), count: Int(PQgetlength(pointer, row, index)))
        }
        if let value = Value(postgresText: text) { return value }
        let name = PQfname(pointer, index).map { String(cString: $0) } ?? "\(column)"
        throw PostgresError(
            .unexpectedValue, subject: "column \(name)",
            message: text == nil ? "The value is NULL." : "The value is no \(Value.self).",
            remedy: "Check that no other program has changed the tables.")
    }
}
#endif
