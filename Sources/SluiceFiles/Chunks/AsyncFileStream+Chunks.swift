extension AsyncFileStream where Mode == ReadMode {
    /// Returns the remaining bytes of the file in chunks of `size` bytes; the last chunk may be shorter.
    ///
    ///     let stream = try await url.openForReading()
    ///     let header = try await stream.read(upToCount: 512)
    ///     for try await chunk in stream.chunks() { … }               // closes the file; use after that does not compile
    ///
    /// The call consumes the stream, because bytes that were read ahead would be missing from its next read. The file is closed
    /// as soon as its end has been read, or when the iterator is dropped. Without an iteration, it is closed when the last copy
    /// of the sequence is dropped.
    ///
    /// Iterate the sequence only once: a second iteration traps. To iterate several times, use `url.chunks(of:)`, which opens the
    /// file for each iteration. Parameters, cancellation and failure are the same as in `URL.chunks(of:readAhead:using:)`.
    public consuming func chunks(of size: Int = 256 << 10, readAhead: Int = 1) -> FileChunks {
        precondition(size > 0, "A chunk's size must be at least 1; it is \(size).")
        precondition(readAhead >= 0, "The number of chunks to read ahead must not be negative; it is \(readAhead).")
        return FileChunks(.stream(FileToIterate(file), readAhead: readAhead), size: size, file.io)
    }
}
