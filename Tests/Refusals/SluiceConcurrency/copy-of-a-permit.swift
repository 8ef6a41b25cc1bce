// error: 'permit' consumed more than once
func use(_ limiter: ConcurrencyLimiter) async throws {
    let permit = try await limiter.acquire()
    let copy = permit
    permit.release()  // refused
    copy.release()
}
