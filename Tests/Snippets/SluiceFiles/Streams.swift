// What the samples of doc comments in Sources/SluiceFiles/Streams take for granted.
import FoundationEssentials
import SluiceFiles

struct Song: Sendable { var size: Int64 = 0 }

let song = Song()
let batch = [Data()]
let line = Data()
let partURL = part
let songURL = url

var stream: AsyncFileStream<WriteMode> { fatalError() }
