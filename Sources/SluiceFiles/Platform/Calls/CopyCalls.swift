internal import CSluiceFiles

/// The system calls that copy within the kernel, replaceable one by one like those of ``SystemCalls``.
package struct CopyCalls: Sendable {
    /// Makes the destination share all blocks of the source. See ioctl_ficlone(2).
    package var clone: @Sendable (_ source: CInt, _ destination: CInt) -> CInt

    /// Copies between the positions of two descriptors, and advances both. See copy_file_range(2).
    package var copyRange: @Sendable (_ source: CInt, _ destination: CInt, _ count: Int) -> Int

    /// Returns the offset of the next data or hole at or after this offset. See lseek(2), SEEK_DATA and SEEK_HOLE.
    package var nextData: @Sendable (_ descriptor: CInt, _ offset: Int64) -> Int64
    package var nextHole: @Sendable (_ descriptor: CInt, _ offset: Int64) -> Int64

    package static let system = CopyCalls(
        clone: { csluice_clone($0, $1) },
        copyRange: { csluice_copy_range($0, $1, $2) },
        nextData: { csluice_next_data($0, $1) },
        nextHole: { csluice_next_hole($0, $1) })
}
