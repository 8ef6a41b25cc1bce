// error: overlapping accesses to 'file'
func use(_ file: consuming MappedFile) async throws -> Int {
    let bytes = file.bytes  // refused
    // instead: let count = file.bytes.byteCount
    try await file.close()
    return bytes.byteCount  // refused
    // instead: return count
}
