internal import CSluiceFiles

/// The calls of descriptors that are waited for, replaceable one by one like those of ``SystemCalls``.
package struct ReadinessCalls: Sendable {
    /// The kernel itself.
    package static let system = ReadinessCalls()
}
