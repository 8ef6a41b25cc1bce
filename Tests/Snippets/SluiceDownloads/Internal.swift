// What the samples in doc comments of declarations that are not public take for granted.
@testable import SluiceDownloads

var transfer: Transfer { fatalError() }

let bytes: [UInt8] = []
