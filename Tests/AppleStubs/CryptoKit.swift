// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation
// The part of CryptoKit that SluiceHTTP uses.
@available(macOS 10.15, iOS 13.0, tvOS 15.0, watchOS 6.0, *)
public struct SHA256 {
    public init() {}
    public mutating func update(bufferPointer: UnsafeRawBufferPointer) {}
    public func finalize() -> SHA256Digest { fatalError() }
}

@available(macOS 10.15, iOS 13.0, tvOS 15.0, watchOS 6.0, *)
public struct SHA256Digest: Sequence, Sendable {
    public func makeIterator() -> Array<UInt8>.Iterator { fatalError() }
}

@available(macOS 10.15, iOS 13.0, tvOS 15.0, watchOS 6.0, *)
public struct SHA512 {
    public init() {}
    public mutating func update(bufferPointer: UnsafeRawBufferPointer) {}
    public func finalize() -> SHA512Digest { fatalError() }
}

@available(macOS 10.15, iOS 13.0, tvOS 15.0, watchOS 6.0, *)
public struct SHA512Digest: Sequence, Sendable {
    public func makeIterator() -> Array<UInt8>.Iterator { fatalError() }
}
