// What the samples of doc comments in Sources/SluiceConcurrency/Concurrent take for granted.
import FoundationEssentials
import SluiceConcurrency

let lines = AsyncStream<URL> { $0.finish() }
let queue = AsyncQueue<Request>()
