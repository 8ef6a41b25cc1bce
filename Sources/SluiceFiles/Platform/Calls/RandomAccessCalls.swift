internal import CSluiceFiles

/// The calls of random access, mapped memory and preallocation, replaceable one by one like those of ``SystemCalls``.
package struct RandomAccessCalls: Sendable {
    /// The kernel itself.
    package static let system = RandomAccessCalls()
}
