// The one file of this module that needs all of Foundation, where `FileHandle` is.
public import Foundation

// A `FileHandle` belongs to the caller, who closes it, and not while one of these is running. Its O_NONBLOCK flag is left as it
// is. Operations take the handle's descriptor when they begin.
extension FileHandle {
    /// The bytes of a pipe, socket, terminal or file in chunks, as they arrive.
    ///
    ///     let process = Process()
    ///     let pipe = Pipe()
    ///     process.standardOutput = pipe
    ///     try process.run()
    ///     for try await line in pipe.fileHandleForReading.chunks().lines() { print(line) }
    ///
    ///     for try await line in FileHandle.standardInput.chunks().lines() { … }
    ///
    /// A chunk is what is there when it is asked for, up to `size` bytes; the next bytes are not waited for to fill it. Nothing
    /// is read ahead, and no thread waits. The handle is kept open by the iteration.
    ///
    /// - Cancellation: the next chunk throws `CancellationError`, immediately; no byte is lost.
    /// - Failure: a ``FileError``, after the chunks before it.
    ///
    /// - Parameters:
    ///   - size: The most bytes of a chunk.
    ///   - files: The engine to run on.
    public func chunks(of size: Int = 64 << 10, using files: FileIO = .shared) -> FileChunks {
        precondition(size > 0, "A chunk has at least one byte.")
        return FileChunks(.descriptor(fileDescriptor, name: asyncName, owner: self), size: size, files)
    }

    /// Reads what there is, and waits for it if there is nothing; no byte comes only at the end.
    ///
    /// Cancellation and failure as in ``FileIO/read(upToCount:descriptor:name:)``.
    public func asyncRead(upToCount count: Int, using files: FileIO = .shared) async throws -> Data {
        defer { withExtendedLifetime(self) {} }
        return try await files.read(upToCount: count, descriptor: fileDescriptor, name: asyncName)
    }

    /// Reads all that comes until the other side closes, or until the end of the file.
    ///
    ///     let markdown = try await FileHandle.standardInput.asyncReadToEnd(limit: 64 << 20)
    ///
    /// Cancellation and failure as in ``FileIO/readToEnd(descriptor:name:limit:)``.
    public func asyncReadToEnd(
        limit: Int = FileIO.defaultReadLimit, using files: FileIO = .shared
    ) async throws -> Data {
        defer { withExtendedLifetime(self) {} }
        return try await files.readToEnd(descriptor: fileDescriptor, name: asyncName, limit: limit)
    }

    /// Writes all bytes.
    ///
    ///     try await FileHandle.standardOutput.asyncWrite(page)
    ///
    /// A pipe without a reader is ``FileError/Code/brokenPipe``; no SIGPIPE is raised. Cancellation and failure as in
    /// ``FileIO/write(_:descriptor:name:)``.
    public func asyncWrite(_ data: Data, using files: FileIO = .shared) async throws {
        defer { withExtendedLifetime(self) {} }
        try await files.write(data, descriptor: fileDescriptor, name: asyncName)
    }

    /// What errors call it.
    private var asyncName: String {
        switch fileDescriptor {
        case 0: "standard input"
        case 1: "standard output"
        case 2: "standard error"
        case let descriptor: "descriptor \(descriptor)"
        }
    }
}
