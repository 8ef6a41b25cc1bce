internal import CSluiceFiles

/// The system calls of change notification, replaceable one by one like those of ``SystemCalls``. `SystemCalls.read` reads the queue,
/// and the bytes have the layout of inotify(7).
package struct WatchCalls: Sendable {
    package var makeQueue: @Sendable () -> CInt
    package var addWatch: @Sendable (_ queue: CInt, _ path: SystemCalls.Path, _ mask: UInt32) -> CInt

    package static let system = WatchCalls(
        makeQueue: { csluice_watch_make() },
        addWatch: { csluice_watch_add($0, $1, $2) }
    )
}
