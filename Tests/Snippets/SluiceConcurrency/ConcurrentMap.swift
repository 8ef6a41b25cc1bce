// What the samples of doc comments in Sources/SluiceConcurrency/Work/ConcurrentMap.swift take for granted.
import FoundationEssentials
import SluiceConcurrency

let lines = AsyncStream<URL> { $0.finish() }
let queue = AsyncQueue<Request>()
