// What the samples in doc comments of declarations that are not public take for granted.
import SluiceFiles

@testable import SluiceDownloads

var transfer: Transfer { fatalError() }

let bytes: [UInt8] = []
let mirrored = MirroredBytes()
let files = FileIO.shared
