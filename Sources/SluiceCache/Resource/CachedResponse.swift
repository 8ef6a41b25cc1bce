#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif
public import HTTPTypes

/// The response of ``ResourceCache/response(for:mode:)``, from the cache or from its server.
public struct CachedResponse: Sendable {
    /// Where a response came from.
    public struct Source: Sendable, Hashable, CustomStringConvertible {
        /// The word for the source, such as `memory`.
        public let description: String

        /// A stored response in memory.
        public static let memory = Self(description: "memory")
        /// A stored response on disk.
        public static let disk = Self(description: "disk")
        /// A stored response that its server has just confirmed or completed.
        public static let validated = Self(description: "validated")
        /// The server.
        public static let network = Self(description: "network")
        /// The cache itself: no suitable response is stored, and the request doesn't allow to ask the server (504).
        public static let cache = Self(description: "cache")
    }

    /// The status, such as 200.
    public var status: HTTPResponse.Status
    /// The header fields. Those of a stored response contain its `Age`.
    public var headerFields: HTTPFields
    /// The bytes of the body.
    public var body: Data
    /// Where the response came from.
    public var source: Source

    init(_ status: Int, _ headerFields: HTTPFields, _ body: Data, _ source: Source) {
        self.status = HTTPResponse.Status(code: status)
        self.headerFields = headerFields
        self.body = body
        self.source = source
    }
}
