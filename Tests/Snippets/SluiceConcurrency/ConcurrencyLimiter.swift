// What the samples of doc comments in Sources/SluiceConcurrency/Limiters/ConcurrencyLimiter.swift take for granted.
import SluiceConcurrency

struct Busy: Error {}
struct Pool: Sendable { func connect() async throws -> Connection { connection } }

let limiter = ConcurrencyLimiter(concurrency: 10)
let memory = ConcurrencyLimiter(concurrency: 256 << 20)
let pool = Pool()
let file = Image()
let server = host
let isOnBattery = false

func showTooLarge(_ image: Image, maximum: Int) {}
func ask(_ host: String) async throws -> String { "" }
