#if PostgreSQL
internal import CSluicePostgres

#if canImport(FoundationEssentials)
package import FoundationEssentials
#else
package import Foundation
#endif

/// A statement with its parameters, which the SQL refers to as `$1`, `$2` and so on.
///
///     let waiting = PostgresStatement("SELECT count(*) FROM job WHERE state = $1 AND host = $2", [0, .text(host)])
///
/// It is sent unnamed, together with its parameters, so it leaves no state in the session: a pooler such as pgbouncer may run the next
/// transaction in another session.
package struct PostgresStatement: Sendable, Hashable {
    package var sql: String
    package var parameters: [PostgresValue]

    package init(_ sql: String, _ parameters: [PostgresValue] = []) {
        precondition(
            !sql.utf8.contains(0), "A statement must not contain a NUL character. Pass the text as a parameter.")
        precondition(
            parameters.count <= 65535,
            "A statement can have up to 65535 parameters; this one has \(parameters.count). Pass arrays instead.")
        self.sql = sql
        self.parameters = parameters
    }

    /// Waits for a lock that ends with the transaction. It must be a separate statement, before the ones that rely on it: a statement that
    /// takes a lock and reads tables sees the tables as they were before it waited.
    package static func lock(_ key: Int64) -> PostgresStatement {
        PostgresStatement("SELECT pg_advisory_xact_lock($1)", [.integer(key)])
    }

    /// Adds the statement to a connection's pipeline. Returns whether libpq accepted it.
    func send(on handle: OpaquePointer) -> Bool {
        var bytes: [UInt8] = []
        var types: [Oid] = []
        // Where each parameter is in `bytes`, or `nil` for NULL.
        var ranges: [Range<Int>?] = []
        for parameter in parameters {
            let start = bytes.count
            let isPresent = parameter.append(to: &bytes)
            types.append(parameter.type)
            ranges.append(isPresent ? start..<bytes.count : nil)
        }
        guard bytes.count <= Int(CInt.max) else { return false }
        let lengths = ranges.map { CInt($0?.count ?? 0) }
        let binary = [CInt](repeating: 1, count: parameters.count)
        // An empty array may have no address, and a parameter without an address is NULL.
        bytes.append(0)
        return bytes.withUnsafeBytes { memory in
            let start = memory.baseAddress!.assumingMemoryBound(to: CChar.self)
            let values = ranges.map { range in range.map { start + $0.lowerBound } }
            return PQsendQueryParams(handle, sql, CInt(parameters.count), types, values, lengths, binary, 0) == 1
        }
    }
}

// MARK: - Parameters

/// A statement's parameter. It is sent with its type, so comparing it with a column of another type needs a cast in the statement.
///
/// Arrays insert many rows with one statement:
///
/// ```sql
/// INSERT INTO job (url, priority) SELECT * FROM unnest($1::text[], $2::int8[])
/// ```
package enum PostgresValue: Sendable, Hashable {
    case null
    /// An `int8`.
    case integer(Int64)
    /// A `float8`.
    case double(Double)
    /// A `bool`.
    case bool(Bool)
    /// A `text`. The server rejects a NUL character in it.
    case text(String)
    /// A `bytea`.
    case bytes([UInt8])
    /// An `int8[]`.
    case integers([Int64?])
    /// A `bool[]`.
    case bools([Bool?])
    /// A `text[]`.
    case texts([String?])
    /// A `bytea[]`.
    case byteArrays([[UInt8]?])

    /// Creates an `int8`, or NULL.
    package init(_ value: Int64?) { self = value.map { .integer($0) } ?? .null }

    /// Creates a `text`, or NULL.
    package init(_ value: String?) { self = value.map { .text($0) } ?? .null }

    /// Creates a `bytea`, or NULL.
    package init(_ value: Data?) { self = value.map { .bytes([UInt8]($0)) } ?? .null }
}

extension PostgresValue: ExpressibleByIntegerLiteral, ExpressibleByStringLiteral, ExpressibleByBooleanLiteral,
    ExpressibleByNilLiteral
{
    package init(integerLiteral value: Int64) { self = .integer(value) }
    package init(stringLiteral value: String) { self = .text(value) }
    package init(booleanLiteral value: Bool) { self = .bool(value) }
    package init(nilLiteral: ()) { self = .null }
}

// MARK: - On the wire

/// The types' object identifiers, from PostgreSQL's pg_type.dat. They never change.
private enum TypeID {
    static let unknown: UInt32 = 0
    static let bool: UInt32 = 16
    static let bytea: UInt32 = 17
    static let int8: UInt32 = 20
    static let text: UInt32 = 25
    static let float8: UInt32 = 701
    static let boolArray: UInt32 = 1000
    static let byteaArray: UInt32 = 1001
    static let textArray: UInt32 = 1009
    static let int8Array: UInt32 = 1016
}

extension PostgresValue {
    var type: UInt32 {
        switch self {
        case .null: TypeID.unknown
        case .integer: TypeID.int8
        case .double: TypeID.float8
        case .bool: TypeID.bool
        case .text: TypeID.text
        case .bytes: TypeID.bytea
        case .integers: TypeID.int8Array
        case .bools: TypeID.boolArray
        case .texts: TypeID.textArray
        case .byteArrays: TypeID.byteaArray
        }
    }

    /// Appends the binary form, in which text needs no quoting and is never cut off at a NUL. Returns `false` for NULL.
    func append(to bytes: inout [UInt8]) -> Bool {
        switch self {
        case .null: return false
        case .integer(let value): bytes.append(bigEndian: value)
        case .double(let value): bytes.append(bigEndian: value.bitPattern)
        case .bool(let value): bytes.append(value ? 1 : 0)
        case .text(let value): bytes.append(contentsOf: value.utf8)
        case .bytes(let value): bytes.append(contentsOf: value)
        case .integers(let values):
            Self.append(values, of: TypeID.int8, to: &bytes) { $1.append(bigEndian: $0) }
        case .bools(let values):
            Self.append(values, of: TypeID.bool, to: &bytes) { $1.append($0 ? 1 : 0) }
        case .texts(let values):
            Self.append(values, of: TypeID.text, to: &bytes) { $1.append(contentsOf: $0.utf8) }
        case .byteArrays(let values):
            Self.append(values, of: TypeID.bytea, to: &bytes) { $1.append(contentsOf: $0) }
        }
        return true
    }

    /// Appends a one-dimensional array (see PostgreSQL's `array_recv`).
    private static func append<Element>(
        _ values: [Element?], of type: UInt32, to bytes: inout [UInt8],
        _ appendElement: (Element, inout [UInt8]) -> Void
    ) {
        bytes.append(bigEndian: Int32(values.isEmpty ? 0 : 1))
        bytes.append(bigEndian: Int32(values.contains { $0 == nil } ? 1 : 0))
        bytes.append(bigEndian: type)
        if values.isEmpty { return }
        bytes.append(bigEndian: Int32(values.count))
        // The first index.
        bytes.append(bigEndian: Int32(1))
        for value in values {
            let start = bytes.count
            bytes.append(bigEndian: Int32(-1))
            guard let value else { continue }
            appendElement(value, &bytes)
            let length = UInt32(bytes.count - start - 4)
            for index in 0..<4 { bytes[start + index] = UInt8(truncatingIfNeeded: length >> (24 - 8 * index)) }
        }
    }
}

extension [UInt8] {
    fileprivate mutating func append(bigEndian value: some FixedWidthInteger) {
        Swift.withUnsafeBytes(of: value.bigEndian) { append(contentsOf: $0) }
    }
}
#endif
