internal import CSluiceFiles

/// The calls that never wait for a device, replaceable one by one like those of ``SystemCalls``.
package struct InlineCalls: Sendable {
    /// The kernel itself.
    package static let system = InlineCalls()
}
