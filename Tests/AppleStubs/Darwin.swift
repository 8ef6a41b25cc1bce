// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation
// What SluiceDownloadList uses of the C library: see README.md.
public func exp(_ x: Double) -> Double { fatalError() }
