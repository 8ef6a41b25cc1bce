// error: thrown expression type 'Other' cannot be converted to error type 'StoreError'
struct StoreError: Error {}
struct Other: Error {}
func use(_ limiter: ConcurrencyLimiter) async throws(StoreError) {
    try await limiter.runUninterrupted { () async throws(StoreError) in throw Other() }  // refused
    // instead: try await limiter.runUninterrupted { () async throws(StoreError) in throw StoreError() }
}
