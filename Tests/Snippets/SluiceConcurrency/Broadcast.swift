// What the samples of doc comments in Sources/SluiceConcurrency/Streams/Broadcast.swift take for granted.
import SluiceConcurrency

struct Position: Sendable {}
struct Reading: Sendable {}
struct State: Sendable {}
struct SensorUnplugged: Error {}
struct Sensor: Sendable { var readings: AsyncThrowingStream<Reading, any Error> { .init { $0.finish() } } }
final class Locator: @unchecked Sendable { var onMove: (@Sendable (Position) -> Void)? }

let locator = Locator()
let sensor = Sensor()
let position = Position()
let positions = Broadcast<Position, Never>()
let broadcast = Broadcast<Position, Never>()
let readings = Broadcast<Reading, any Error>()

func showGap(of count: Int) {}
func show(_ readings: Broadcast<Reading, any Error>.Subscription) async {}
func write(_ readings: Broadcast<Reading, any Error>.UnboundedSubscription) async {}
