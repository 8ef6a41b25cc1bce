internal import CSluiceFiles

/// Starts threads outside Dispatch and the cooperative pool. Those pools are sized for work that never blocks.
package enum DetachedThread {
    private final class Body: Sendable {
        let run: @Sendable () -> Void
        init(_ run: @escaping @Sendable () -> Void) { self.run = run }
    }

    /// Starts a thread that runs `body` and ends. Returns 0 or minus the error number of pthread_create(3). `body` is @Sendable, because a
    /// closure that inherited the main actor would trap on the new thread.
    package static func start(stackSize: Int, _ body: @escaping @Sendable () -> Void) -> CInt {
        let context = Unmanaged.passRetained(Body(body))
        let result = csluice_thread_start(
            { Unmanaged<Body>.fromOpaque($0!).takeRetainedValue().run() }, context.toOpaque(), stackSize)
        if result != 0 { context.release() }
        return result
    }

    /// The error if the system has no thread for `purpose`. pthread_create(3) returns EAGAIN for all of its reasons.
    package static func missing(for purpose: String, _ error: CInt) -> FileError {
        FileError(
            code: .exhausted, operation: "start a thread for", path: purpose, systemError: error,
            remedy:
                "Raise the limit of threads (ulimit -u) or of address space (ulimit -v), or start fewer threads."
        )
    }
}
