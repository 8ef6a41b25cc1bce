internal import CSluiceFiles

/// The system calls that never wait for a device, replaceable one by one like those of ``SystemCalls``.
package struct InlineCalls: Sendable {
    /// Opens a file for reading if its path is in memory. Doesn't follow a symbolic link at the end. See openat2(2), RESOLVE_CACHED.
    package var open: @Sendable (_ path: SystemCalls.Path) -> CInt

    /// Reads bytes that are in memory, at the descriptor's position if `offset` is -1. See preadv2(2), RWF_NOWAIT.
    package var read: @Sendable (_ descriptor: CInt, _ into: UnsafeMutableRawBufferPointer, _ offset: Int64) -> Int

    /// Returns 1 if opening and closing on the file's file system never waits for another machine or process.
    package var isLocal: @Sendable (_ descriptor: CInt) -> CInt

    package static let system = InlineCalls(
        open: { csluice_open_cached($0) },
        read: { csluice_read_cached($0, $1.baseAddress, $1.count, $2) },
        isLocal: { csluice_is_local($0) })

    /// The calls of a kernel that has none of them.
    package static let missing = InlineCalls(
        open: { _ in -ENOSYS }, read: { _, _, _ in -Int(ENOSYS) }, isLocal: { _ in -ENOSYS })
}
