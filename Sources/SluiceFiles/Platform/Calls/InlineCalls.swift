internal import CSluiceFiles

/// The calls that never wait for a device, replaceable one by one like those of ``SystemCalls``.
package struct InlineCalls: Sendable {
    /// Opens a file for reading if the way to it is in memory, and not what a link at its end points to. See openat2(2),
    /// RESOLVE_CACHED.
    package var open: @Sendable (_ path: SystemCalls.Path) -> CInt

    /// Reads what is in memory, at the descriptor's position where `offset` is -1. See preadv2(2), RWF_NOWAIT.
    package var read: @Sendable (_ descriptor: CInt, _ into: UnsafeMutableRawBufferPointer, _ offset: Int64) -> Int

    /// Whether opening and closing never waits for another machine or process on the file's file system.
    package var isLocal: @Sendable (_ descriptor: CInt) -> CInt

    /// The kernel itself.
    package static let system = InlineCalls(
        open: { csluice_open_cached($0) },
        read: { csluice_read_cached($0, $1.baseAddress, $1.count, $2) },
        isLocal: { csluice_is_local($0) })

    /// A kernel that has none of them.
    package static let missing = InlineCalls(
        open: { _ in -ENOSYS }, read: { _, _, _ in -Int(ENOSYS) }, isLocal: { _ in -ENOSYS })
}
