// error: noncopyable 'stream' cannot be consumed when captured by an escaping closure|passing closure as a 'sending' parameter
func use(_ url: URL) async throws {
    let stream = try await url.openForReading()
    try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { try await stream.close() }  // refused
        // instead: group.addTask { try await url.openForReading().close() }
        try await group.waitForAll()
    }
    // instead: try await stream.close()
}
