internal import CSluiceFiles

/// The calls that copy within the kernel, replaceable one by one like those of ``SystemCalls``.
package struct CopyCalls: Sendable {
    /// The kernel itself.
    package static let system = CopyCalls()
}
