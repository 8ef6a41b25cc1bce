public import HTTPTypes
public import SluiceHTTP

/// The response of ``ResourceCache/bytes(for:mode:)``, from the cache or from its server. Its body arrives while the caller reads it.
public struct StreamedResponse: Sendable {
    /// The status, such as 200.
    public var status: HTTPResponse.Status
    /// The header fields. Those of a stored response contain its `Age`.
    public var headerFields: HTTPFields
    /// The bytes of the body. Releasing the body, without having read all of it, ends the exchange if no other caller reads it.
    public var body: ResponseBody
    /// Where the response came from.
    public var source: CachedResponse.Source
}
