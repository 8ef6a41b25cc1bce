// What the samples of doc comments in Sources/SluiceConcurrency/Limiters/KeyedLimiter.swift take for granted.
import SluiceConcurrency

let limiter = KeyedLimiter<String>(perKey: 4, total: 32)
let table = "songs"
let file = Image()
let pool = Pool()

struct Busy: Error {}
struct Pool: Sendable { func connect(to host: String) async throws -> Connection { connection } }
