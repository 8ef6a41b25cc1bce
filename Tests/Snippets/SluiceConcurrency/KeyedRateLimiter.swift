// What the samples of doc comments in Sources/SluiceConcurrency/Limiters/KeyedRateLimiter.swift take for granted.
import SluiceConcurrency

struct TooManyRequests: Error { var retryAfter: Duration? }

let limiter = KeyedRateLimiter<String, _>(rate: 5, per: .seconds(1))
let client = ""
func fetch(_ url: some Any) async throws -> Int { 0 }
