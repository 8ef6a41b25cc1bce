internal import CSluiceFiles
internal import SluiceLock

#if canImport(Darwin)
internal import Darwin
#endif

/// What tells this run of the operating system from earlier and later ones; nil where the system does not say.
///
/// Bytes that were written and not synced outlive their process as long as the system runs, and not its end.
enum BootIdentity {
    private static let known = Lock<String?>(nil)

    /// Reads it once; a system call that does not wait.
    static func read(_ kernel: Kernel) -> String? {
        if let known = known.withLock({ $0 }) { return known }
        guard let found = ask(kernel), !found.isEmpty else { return nil }
        known.withLock { $0 = found }
        return found
    }

    #if canImport(Darwin)
    private static func ask(_ kernel: Kernel) -> String? {
        var buffer = [CChar](repeating: 0, count: 64)
        var size = buffer.count
        guard sysctlbyname("kern.bootsessionuuid", &buffer, &size, nil, 0) == 0 else { return nil }
        return String(decoding: buffer.prefix(size).prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
    #else
    /// See random(4). A container sees that of its host.
    private static func ask(_ kernel: Kernel) -> String? {
        guard let descriptor = try? kernel.open("/proc/sys/kernel/random/boot_id", O_RDONLY) else { return nil }
        defer { kernel.closeQuietly(descriptor) }
        return withUnsafeTemporaryAllocation(byteCount: 64, alignment: 1) { buffer in
            guard let count = try? kernel.read(descriptor, into: buffer, "boot_id") else { return nil }
            return String(decoding: buffer.prefix(count).prefix { $0 > 0x20 }, as: UTF8.self)
        }
    }
    #endif
}
