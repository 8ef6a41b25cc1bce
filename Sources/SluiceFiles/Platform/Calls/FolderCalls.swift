internal import CSluiceFiles

/// The calls that list folders and work relative to them, replaceable one by one like those of ``SystemCalls``.
package struct FolderCalls: Sendable {
    /// The kernel itself.
    package static let system = FolderCalls()
}
