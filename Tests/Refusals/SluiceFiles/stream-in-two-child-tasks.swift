// error: noncopyable 'stream' cannot be consumed when captured by an escaping closure|risks causing data races|sending 'stream'
func use(_ url: URL) async throws {
    let stream = try await url.openForReading()
    try await withThrowingTaskGroup(of: Data.self) { group in
        group.addTask { try await stream.read(upToCount: 512) }  // refused
        group.addTask { try await stream.read(upToCount: 512) }  // refused
        // instead: for _ in 0..<2 { group.addTask { try await url.chunks().first { _ in true } ?? Data() } }
        try await group.waitForAll()
    }
    try await stream.close()
}
