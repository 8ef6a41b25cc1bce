internal import CSluiceFiles

/// The calls of change notification, replaceable one by one like those of ``SystemCalls``.
///
/// What is read from the queue, with `SystemCalls.read`, has the layout of inotify(7).
package struct WatchCalls: Sendable {
    package var makeQueue: @Sendable () -> CInt
    package var addWatch: @Sendable (_ queue: CInt, _ path: SystemCalls.Path, _ mask: UInt32) -> CInt

    /// The kernel itself.
    package static let system = WatchCalls(
        makeQueue: { csluice_watch_make() },
        addWatch: { csluice_watch_add($0, $1, $2) }
    )
}
