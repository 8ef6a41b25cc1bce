/// The isolation of the timed code.
enum Home: String, CaseIterable {
    case noIsolation = "no isolation"
    case actor = "an actor"
    case mainActor = "the main actor"

    /// Runs `body` with this isolation.
    func run(_ body: @Sendable () async throws -> Sample) async throws -> Sample {
        switch self {
        case .noIsolation:
            precondition(#isolation == nil, "The rows must run on no actor.")
            return try await body()
        case .actor: return try await Host().run(body)
        case .mainActor: return try await runOnMainActor(body)
        }
    }
}

private actor Host {
    func run(_ body: @Sendable () async throws -> Sample) async throws -> Sample { try await body() }
}

@MainActor
private func runOnMainActor(_ body: @Sendable () async throws -> Sample) async throws -> Sample { try await body() }
