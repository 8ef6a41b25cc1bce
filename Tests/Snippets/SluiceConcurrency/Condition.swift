// What the samples of doc comments in Sources/SluiceConcurrency/Waiting/Condition.swift take for granted.
import SluiceConcurrency

struct ProducerFailed: Error {}

let (condition, signal) = Condition.makeCondition()

func openDatabase() async throws {}
