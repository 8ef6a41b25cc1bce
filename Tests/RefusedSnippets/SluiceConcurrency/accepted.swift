// accepted: the same with nothing wrong, so that a refusal below is not one of the set-up.
final class Notebook { var lines: [String] = [] }
struct Ticket: ~Copyable { let number: Int }
struct StoreError: Error {}

actor Album {
    var pictures = 0
    func add(_ limiter: ConcurrencyLimiter) async throws {
        await limiter.run { pictures += 1 }
        let permit = try await limiter.acquire()
        pictures += permit.weight
        permit.release()
    }
}

@MainActor
func window(_ limiter: ConcurrencyLimiter, _ notebook: Notebook) async throws {
    await limiter.run { notebook.lines.append("a") }
    try await limiter.run(weight: 2) { notebook.lines.append("b") }
    let ticket = await limiter.run { Ticket(number: 1) }
    _ = consume ticket
}

func nowhere(_ limiter: ConcurrencyLimiter, _ notebook: Notebook) async throws(StoreError) {
    await limiter.run { notebook.lines.append("a") }
    try await limiter.runUninterrupted { () async throws(StoreError) in throw StoreError() }
}
