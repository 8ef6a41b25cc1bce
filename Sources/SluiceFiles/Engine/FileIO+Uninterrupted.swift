extension FileIO {
    /// Runs file operations to their end although the task is cancelled.
    ///
    ///     do {
    ///         try await play(list)
    ///     } catch is CancellationError {
    ///         try await FileIO.uninterrupted { try await list.position.asyncWrite(to: url) }
    ///         throw CancellationError()
    ///     }
    ///
    /// A cancelled task can't begin a file operation: it throws `CancellationError`. Inside of `body`, operations of every
    /// engine begin and run to their end all the same: whole files, streams, random access, renames, removals, copies. Use it
    /// for work that must finish, such as saving state, and keep it short: nothing can end it early.
    ///
    /// - Cancellation: `body` sees it in `Task.isCancelled`. It still ends what waits for another process, since that may take
    ///   forever: reads and writes of pipes, FIFOs, terminals and sockets, waits for a lock, and changes of a directory. It
    ///   also ends loops over chunks.
    /// - Failure: what `body` throws. An engine that was shut down refuses operations here, too.
    /// - Inheritance: tasks that `body` creates with `Task { }`, `async let` or a group don't observe cancellation in their
    ///   file operations either. A `Task.detached` does.
    public static func uninterrupted<R>(_ body: () async throws -> R) async rethrows -> R {
        try await $ignoresCancellation.withValue(true, operation: body)
    }

    /// Throws if the task is cancelled and its operations heed that.
    static func checkCancellation() throws(CancellationError) {
        if Task.isCancelled, !ignoresCancellation { throw CancellationError() }
    }
}
