// What the samples of doc comments in Sources/SluiceConcurrency/Waiting/Monitor.swift take for granted.
import SluiceConcurrency

struct Songs: Sendable {
    var isLoaded = false
    var pending: [Song] = []
}

let monitor = Monitor(Songs())
let pool = Monitor([Connection]())
