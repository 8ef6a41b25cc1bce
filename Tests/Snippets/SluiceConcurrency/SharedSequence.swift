// What the samples of doc comments in Sources/SluiceConcurrency/Streams/SharedSequence.swift take for granted.
import SluiceConcurrency

struct Reading: Sendable {}
struct Sensor: Sendable { var readings: AsyncThrowingStream<Reading, any Error> { .init { $0.finish() } } }

let sensor = Sensor()
func store(_ reading: Reading) async throws {}
