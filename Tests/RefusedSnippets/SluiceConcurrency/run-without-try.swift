// refused: call can throw
func load() async throws -> Int { 1 }
func use(_ limiter: ConcurrencyLimiter) async -> Int {
    await limiter.run { try await load() }
}
