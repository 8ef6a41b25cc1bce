public import HTTPTypes

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// The URL of a resource that a request names by an identifier. See the coordinator's `resolve`.
public struct DownloadResolution: Sendable, Hashable {
    /// The URL to download. It isn't stored.
    public var url: URL
    /// Additional header fields, which are sent only to the URL's origin and aren't stored.
    public var headerFields: HTTPFields

    /// Creates a resolution.
    public init(url: URL, headerFields: HTTPFields = [:]) {
        self.url = url
        self.headerFields = headerFields
    }
}
