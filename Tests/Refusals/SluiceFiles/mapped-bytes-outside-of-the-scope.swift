// error: requires that 'RawSpan' conform to 'Escapable'
func use(_ url: URL) async throws -> Int {
    try await url.withMappedFile { file -> RawSpan in file.bytes }.byteCount  // refused
    // instead: try await url.withMappedFile { file -> Int in file.bytes.byteCount }
}
