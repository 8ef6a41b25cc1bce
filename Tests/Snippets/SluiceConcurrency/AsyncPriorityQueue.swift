// What the samples of doc comments in Sources/SluiceConcurrency/Queues/AsyncPriorityQueue.swift take for granted.
import SluiceConcurrency

let queue = AsyncPriorityQueue(priority: \Request.rank)
let prefetch = Request(rank: 1)
let tapped = Request(rank: 9)
