internal import CSluiceFiles

/// The calls of times, modes, links and extended attributes, replaceable one by one like those of ``SystemCalls``.
package struct MetadataCalls: Sendable {
    /// The kernel itself.
    package static let system = MetadataCalls()
}
