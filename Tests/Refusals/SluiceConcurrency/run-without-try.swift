// error: call can throw
func load() async throws -> Int { 1 }
func use(_ limiter: ConcurrencyLimiter) async throws -> Int {
    await limiter.run { try await load() }  // refused
    // instead: try await limiter.run { try await load() }
}
