import SluiceFiles
import SluiceHTTP

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// How a ``DecodedCache`` makes its values. The sizes are for images: for other values, they are 0.
struct ValueDecoder<Value: Sendable>: Sendable {
    /// The cost of a value in memory.
    var cost: @Sendable (Value) -> Int
    /// The size of requests without one.
    var size = 0
    /// The longer side of a value.
    var extent: @Sendable (Value) -> Int = { _ in 0 }
    /// How scaled values are stored on disk; `nil` if they aren't.
    var copies: ValueCopies<Value>?
    /// Returns a function that decodes the beginnings of a response into values of at most a size; see ``ArrivingValue``.
    var partDecoder: (@Sendable (_ size: Int) -> @Sendable (Data) -> Value?)?
    /// Decodes bytes into a value of at most a size.
    var decode: @Sendable (ValueSource, Data, _ size: Int) async throws -> Value

    init(
        cost: @escaping @Sendable (Value) -> Int,
        decode: @escaping @Sendable (ValueSource, Data, _ size: Int) async throws -> Value
    ) {
        self.cost = cost
        self.decode = decode
    }
}

/// Where the bytes of a value come from.
enum ValueSource: Sendable {
    case resource(URL)
    case file(URL)
    /// A closure of the app.
    case closure(key: String)

    /// An error for bytes that can't be decoded.
    func unexpected(_ detail: String, remedy: String? = nil) -> TransferError {
        switch self {
        case .resource(let url):
            return TransferError(.unexpectedContent, url: url, detail: detail, remedy: remedy)
        case .file(let url):
            return TransferError(
                .unexpectedContent, url: url, message: "The file isn't what was asked for (\(detail)).",
                remedy: remedy ?? "Open the file in another program to see what it is.")
        case .closure(let key):
            return error(
                .unexpectedContent, of: key, "The bytes for this key aren't what was asked for (\(detail)).",
                remedy ?? "Check the closure that returns them.")
        }
    }

    /// The error of a cache that has been shut down.
    var shutDown: TransferError {
        switch self {
        case .resource(let url), .file(let url): ResourceCache.shutDown(url)
        case .closure(let key): error(.shutDown, of: key, "The cache has been shut down.", "Create a new cache.")
        }
    }

    private func error(
        _ code: TransferError.Code, of key: String, _ message: String, _ remedy: String
    ) -> TransferError {
        // The error needs a URL, but the key isn't one. The subject is what its message shows.
        var error = TransferError(code, url: URL(filePath: "/"), message: message, remedy: remedy)
        error.subject = key
        return error
    }
}

/// What tells whether a file has changed. Writing the same number of bytes twice within a tick of the file system's clock, some
/// milliseconds, doesn't.
struct FileVersion: Sendable, Equatable {
    private let size: Int64
    private let modificationTime: FileTime
    private let identity: FileIdentity

    /// - Throws: `FileError`, also if the file is missing.
    init(of url: URL, using files: FileIO) async throws {
        guard let status = try await files.status(of: url) else {
            throw FileError(
                .notFound, subject: url.path(percentEncoded: false), message: "The file doesn't exist.",
                remedy: "Check the path.")
        }
        size = status.size
        modificationTime = status.modificationTime
        identity = status.identity
    }
}

/// Values of one resource in several sizes, all decoded from the same bytes.
struct SizedValues<Value: Sendable>: Sendable {
    private var values: [(size: Int, extent: Int, cost: Int, value: Value)] = []

    /// How many sizes of a resource are kept. An app has a few views of different sizes; a view whose size changes has any number.
    private static var maximumCount: Int { 6 }

    /// Returns the value for a size: the one of this size, or the whole image if it isn't larger.
    func value(ofSize size: Int) -> Value? {
        values.first { $0.size == size || $0.extent < $0.size && $0.extent <= size }?.value
    }

    /// Returns the smallest value that is larger than a size.
    func value(largerThan size: Int) -> Value? {
        values.filter { $0.size > size }.min { $0.size < $1.size }?.value
    }

    /// Inserts a value, in place of an older one of this size, and of the oldest one if there are too many.
    mutating func insert(_ value: Value, size: Int, extent: Int, cost: Int) {
        values.removeAll { $0.size == size }
        if values.count >= Self.maximumCount { values.removeFirst() }
        values.append((size, extent, cost, value))
    }

    /// The sum of the costs. `Int.max` if that is too large.
    var cost: Int {
        values.reduce(0) { sum, entry in
            let (sum, overflows) = sum.addingReportingOverflow(entry.cost)
            return overflows ? .max : sum
        }
    }
}
