// What the samples of doc comments in Sources/SluiceConcurrency/Limiters/RateLimiter.swift take for granted.
import SluiceConcurrency

struct TooManyRequests: Error { var retryAfter: Duration? }

let limiter = RateLimiter(rate: 50, per: .seconds(1), burst: 10)
