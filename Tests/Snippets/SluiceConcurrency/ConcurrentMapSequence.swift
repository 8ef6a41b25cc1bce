// What the samples of doc comments in Sources/SluiceConcurrency/Work/ConcurrentMapSequence.swift take for granted.
import FoundationEssentials
import SluiceConcurrency

let links = AsyncStream<URL> { $0.finish() }
func show(_ image: Image) {}
