extension AsyncFileStream where Mode == ReadMode {
    /// What is left of the file in chunks of `size`, the last one shorter. The stream belongs to the loop from here on.
    ///
    ///     let stream = try await url.openForReading()
    ///     let header = try await stream.read(upToCount: 512)
    ///     for try await chunk in stream.chunks() { … }               // closes the file; use after that does not compile
    ///
    /// The call takes the stream, since what is read ahead would be missing from its next read. The file is closed before the
    /// last chunk is handed out, or when the iteration goes away before that, or, if there was none, when the last copy of
    /// the sequence does.
    ///
    /// **Iterate it once.** The bytes of an open file are gone once they are read, so a second iteration could only look like
    /// an empty file: it stops the program with a sentence. `url.chunks(of:)` opens the file for each iteration.
    ///
    /// Read-ahead, cancellation and failure as in `URL.chunks(of:readAhead:using:)`.
    ///
    /// - Parameters:
    ///   - size: The bytes of each chunk but the last.
    ///   - readAhead: How many chunks are read before they are asked for. With 0 each is read when it is asked for.
    public consuming func chunks(of size: Int = 256 << 10, readAhead: Int = 1) -> FileChunks {
        precondition(size > 0, "A chunk has at least one byte.")
        precondition(readAhead >= 0, "What is read ahead is not negative.")
        return FileChunks(.stream(FileToIterate(file), readAhead: readAhead), size: size, file.io)
    }
}
