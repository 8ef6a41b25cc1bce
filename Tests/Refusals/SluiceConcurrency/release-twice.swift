// error: 'permit' consumed more than once
func use(_ limiter: ConcurrencyLimiter) async throws {
    let permit = try await limiter.acquire()
    permit.release()
    permit.release()  // refused
}
