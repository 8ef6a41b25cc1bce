internal import CSluiceFiles

/// The system calls of random access, mapped memory and preallocation, replaceable one by one like those of ``SystemCalls``.
package struct RandomAccessCalls: Sendable {
    // MARK: Positions

    package var readAt: @Sendable (_ descriptor: CInt, _ into: UnsafeMutableRawBufferPointer, _ offset: Int64) -> Int
    package var writeAt: @Sendable (_ descriptor: CInt, _ from: UnsafeRawBufferPointer, _ offset: Int64) -> Int
    package var seek: @Sendable (_ descriptor: CInt, _ offset: Int64, _ whence: CInt) -> Int64

    // MARK: Space

    package var preallocate:
        @Sendable (_ descriptor: CInt, _ offset: Int64, _ count: Int64, _ keepingSize: Bool) -> CInt
    package var punchHole: @Sendable (_ descriptor: CInt, _ offset: Int64, _ count: Int64) -> CInt
    package var adviseFile:
        @Sendable (_ descriptor: CInt, _ offset: Int64, _ count: Int64, _ advice: AccessAdvice) -> CInt

    // MARK: Mapped memory

    package typealias Memory = UnsafeMutableRawPointer

    /// Maps for reading, or privately for reading and writing if `isChangeable`. See mmap(2), MAP_PRIVATE.
    package var map:
        @Sendable (_ descriptor: CInt, _ count: Int, _ isChangeable: Bool, _ address: inout Memory?) -> CInt
    package var unmap: @Sendable (_ address: Memory, _ count: Int) -> CInt
    package var adviseMemory: @Sendable (_ address: Memory, _ count: Int, _ advice: AccessAdvice) -> CInt
    package var populate: @Sendable (_ address: Memory, _ count: Int) -> CInt
    package var touch: @Sendable (_ address: Memory, _ count: Int) -> CInt

    package static let system = RandomAccessCalls(
        readAt: { csluice_pread($0, $1.baseAddress, $1.count, $2) },
        writeAt: { csluice_pwrite($0, $1.baseAddress, $1.count, $2) },
        seek: { csluice_lseek($0, $1, $2) },
        preallocate: { csluice_preallocate($0, $1, $2, $3) },
        punchHole: { csluice_punch_hole($0, $1, $2) },
        adviseFile: { csluice_advise_file($0, $1, $2, $3.number) },
        map: { csluice_map($0, $1, $2, &$3) },
        unmap: { csluice_unmap($0, $1) },
        adviseMemory: { csluice_advise_memory($0, $1, $2.number) },
        populate: { csluice_populate($0, $1) },
        touch: { csluice_touch($0, $1) }
    )
}

extension AccessAdvice {
    fileprivate var number: csluice_advice {
        switch self {
        case .normal: csluice_advice_normal
        case .sequential: csluice_advice_sequential
        case .random: csluice_advice_random
        case .needed: csluice_advice_needed
        case .notNeeded: csluice_advice_not_needed
        }
    }
}
