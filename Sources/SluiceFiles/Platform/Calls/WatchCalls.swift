internal import CSluiceFiles

/// The calls of change notification, replaceable one by one like those of ``SystemCalls``.
package struct WatchCalls: Sendable {
    /// The kernel itself.
    package static let system = WatchCalls()
}
