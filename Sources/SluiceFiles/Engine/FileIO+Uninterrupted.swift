extension FileIO {
    /// Runs file operations to their end even if the task is cancelled.
    ///
    ///     do {
    ///         try await play(list)
    ///     } catch is CancellationError {
    ///         try await FileIO.uninterrupted { try await list.position.asyncWrite(to: url) }
    ///         throw CancellationError()
    ///     }
    ///
    /// In a cancelled task, every file operation throws `CancellationError` before it starts. Inside `body`, the operations of every
    /// engine start and run to their end: whole files, streams, random access, renames, removals, copies. Use it for work that must
    /// finish, such as saving state, and keep the work short, because nothing ends it early.
    ///
    /// - Cancellation: `body` sees it in `Task.isCancelled`. It still ends operations that may wait forever for another process: reads
    ///   and writes of pipes, FIFOs, terminals and sockets, waits for a lock, and changes of a directory. It also ends loops over chunks.
    ///   To print a last message, use `print` or `FileHandle.write(contentsOf:)`.
    /// - Failure: The error of `body`. An engine that was shut down refuses these operations too.
    /// - Inheritance: Tasks that `body` creates with `Task { }`, `async let` or a group inherit this. A `Task.detached` doesn't.
    public static func uninterrupted<R>(_ body: () async throws -> R) async rethrows -> R {
        try await $ignoresCancellation.withValue(true, operation: body)
    }

    /// Throws if the task is cancelled, except inside ``uninterrupted(_:)``.
    static func checkCancellation() throws(CancellationError) {
        if Task.isCancelled, !ignoresCancellation { throw CancellationError() }
    }
}
