#if PostgreSQL
internal import CSluicePostgres

#if canImport(FoundationEssentials)
package import FoundationEssentials
#else
package import Foundation
#endif

/// The result of one statement: its rows, and the number of rows that it changed.
///
///     for row in result { try print(row.value("url", as: String.self)) }
///
/// It wraps the memory that libpq filled. Values are decoded when they are read.
package struct PostgresResult: Sendable, RandomAccessCollection {
    private let storage: Storage

    /// Takes ownership of libpq's result.
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

    /// Frees libpq's result when the last copy goes away.
    final class Storage: @unchecked Sendable {
        // No lock: libpq doesn't change a complete result, so any number of threads may read it.
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

    /// Decodes a value by column name. Pass an optional type if the value may be NULL.
    ///
    /// - Throws: ``PostgresError/Code/unexpectedValue`` if the value has a different type or is NULL, or if there is no such column.
    ///   Another program may have changed a view or a function.
    package func value<Value: PostgresDecodable>(_ column: String, as type: Value.Type = Value.self) throws -> Value {
        // Quoted, because libpq would convert the name to lowercase.
        let quoted = "\"\(column.replacing("\"", with: "\"\""))\""
        let index = Int(PQfnumber(storage.pointer, quoted))
        guard index >= 0 else {
            throw PostgresError(
                .unexpectedValue, subject: "column \(column)", message: "The result has no such column.",
                remedy: "Check that no other program has changed the tables.")
        }
        return try value(at: index, as: type)
    }

    /// Decodes a value by column index. It behaves like the method that takes a name.
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

// MARK: - Decoding

/// A type that a result's values can be decoded to.
package protocol PostgresDecodable: Sendable {
    /// Creates a value from the text that the server sent, or from `nil` for NULL. Returns `nil` if the text doesn't fit the type.
    init?(postgresText text: UnsafeRawBufferPointer?)
}

extension Optional: PostgresDecodable where Wrapped: PostgresDecodable {
    package init?(postgresText text: UnsafeRawBufferPointer?) {
        guard let text else {
            self = .none
            return
        }
        guard let wrapped = Wrapped(postgresText: text) else { return nil }
        self = .some(wrapped)
    }
}

extension String: PostgresDecodable {
    package init?(postgresText text: UnsafeRawBufferPointer?) {
        guard let text else { return nil }
        self.init(decoding: text, as: UTF8.self)
    }
}

extension Int64: PostgresDecodable {
    package init?(postgresText text: UnsafeRawBufferPointer?) {
        guard let text else { return nil }
        self.init(String(decoding: text, as: UTF8.self))
    }
}

extension Int: PostgresDecodable {
    package init?(postgresText text: UnsafeRawBufferPointer?) {
        guard let value = Int64(postgresText: text) else { return nil }
        self.init(exactly: value)
    }
}

extension Double: PostgresDecodable {
    package init?(postgresText text: UnsafeRawBufferPointer?) {
        guard let text else { return nil }
        self.init(String(decoding: text, as: UTF8.self))
    }
}

extension Bool: PostgresDecodable {
    package init?(postgresText text: UnsafeRawBufferPointer?) {
        guard let text, text.count == 1 else { return nil }
        switch text[0] {
        case UInt8(ascii: "t"): self = true
        case UInt8(ascii: "f"): self = false
        default: return nil
        }
    }
}

extension [UInt8]: PostgresDecodable {
    /// Decodes the hexadecimal form, `\x0aff`, which servers have sent by default since version 9.0.
    package init?(postgresText text: UnsafeRawBufferPointer?) {
        guard let text, text.count >= 2, text.count.isMultiple(of: 2), text[0] == UInt8(ascii: "\\"),
            text[1] == UInt8(ascii: "x")
        else { return nil }
        self.init()
        reserveCapacity(text.count / 2 - 1)
        for index in stride(from: 2, to: text.count, by: 2) {
            guard let high = Self.digit(text[index]), let low = Self.digit(text[index + 1]) else { return nil }
            append(high << 4 | low)
        }
    }

    private static func digit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        default: nil
        }
    }
}

extension Data: PostgresDecodable {
    package init?(postgresText text: UnsafeRawBufferPointer?) {
        guard let bytes = [UInt8](postgresText: text) else { return nil }
        self.init(bytes)
    }
}
#endif
