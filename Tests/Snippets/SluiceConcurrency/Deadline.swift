// What the samples of doc comments in Sources/SluiceConcurrency/Waiting/Deadline.swift take for granted.
import SluiceConcurrency

struct Search: Sendable { func bestSoFar() async -> [Page] { [] } }

let search = Search()
let limiter = ConcurrencyLimiter(concurrency: 10)
