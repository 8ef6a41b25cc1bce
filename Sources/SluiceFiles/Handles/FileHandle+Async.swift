// The one file of this module that needs all of Foundation, where `FileHandle` is.
public import Foundation

// The caller owns the `FileHandle`, and must not close it while one of these operations runs. Its O_NONBLOCK flag isn't changed.
// Operations take the handle's descriptor when they begin.
extension FileHandle {
    /// Returns the bytes of a pipe, socket, terminal or file in chunks, as they arrive.
    ///
    ///     let process = Process()
    ///     let pipe = Pipe()
    ///     process.standardOutput = pipe
    ///     try process.run()
    ///     for try await line in pipe.fileHandleForReading.chunks().lines() { print(line) }
    ///
    /// A chunk holds the bytes that are available, up to `size`; the iteration doesn't wait for more to fill it. Nothing is read
    /// ahead, and waiting uses no thread. The iteration keeps the handle alive.
    ///
    /// - Cancellation: The next chunk throws `CancellationError` immediately, and no byte is lost.
    /// - Failure: A ``FileError``. It is thrown after the chunks before it, and ends the iteration.
    public func chunks(of size: Int = 64 << 10, using files: FileIO = .shared) -> FileChunks {
        precondition(size > 0, "A chunk's size must be at least 1; it is \(size).")
        return FileChunks(.descriptor(fileDescriptor, name: asyncName, owner: self), size: size, files)
    }

    /// Reads the available bytes, or waits until there are some. Returns an empty `Data` only at the end.
    ///
    /// Cancellation and failure are the same as in ``FileIO/read(upToCount:descriptor:name:)``.
    public func asyncRead(upToCount count: Int, using files: FileIO = .shared) async throws -> Data {
        defer { withExtendedLifetime(self) {} }
        return try await files.read(upToCount: count, descriptor: fileDescriptor, name: asyncName)
    }

    /// Reads until the other side closes, or to the end of the file.
    ///
    ///     let markdown = try await FileHandle.standardInput.asyncReadToEnd(maximumSize: 64 << 20)
    ///
    /// Cancellation and failure are the same as in ``FileIO/readToEnd(descriptor:name:maximumSize:)``.
    public func asyncReadToEnd(
        maximumSize: Int = FileIO.defaultMaximumSize, using files: FileIO = .shared
    ) async throws -> Data {
        defer { withExtendedLifetime(self) {} }
        return try await files.readToEnd(descriptor: fileDescriptor, name: asyncName, maximumSize: maximumSize)
    }

    /// Writes all bytes.
    ///
    /// Cancellation and failure are the same as in ``FileIO/write(_:descriptor:name:)``.
    public func asyncWrite(_ data: Data, using files: FileIO = .shared) async throws {
        defer { withExtendedLifetime(self) {} }
        try await files.write(data, descriptor: fileDescriptor, name: asyncName)
    }

    private var asyncName: String {
        switch fileDescriptor {
        case 0: "standard input"
        case 1: "standard output"
        case 2: "standard error"
        case let descriptor: "descriptor \(descriptor)"
        }
    }
}
