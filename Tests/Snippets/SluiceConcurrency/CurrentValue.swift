// What the samples of doc comments in Sources/SluiceConcurrency/Streams/CurrentValue.swift take for granted.
import SluiceConcurrency

struct Progress: Sendable { var bytes = 0 }
enum Status: Sendable { case running, paused }

let status = CurrentValue(Status.running)
let tickets = CurrentValue(0)
