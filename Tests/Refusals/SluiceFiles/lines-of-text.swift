// error: requires the types 'String' and 'Data'.* be equivalent|no member 'lines'
func use(_ url: URL) async throws {
    for try await line in url.chunks().lines().lines() { print(line) }  // refused
    // instead: for try await line in url.chunks().lines() { print(line) }
}
