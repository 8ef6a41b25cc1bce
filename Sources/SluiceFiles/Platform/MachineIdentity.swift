internal import CSluiceFiles
internal import SluiceLock

#if canImport(Darwin)
internal import Darwin
#endif

/// The name of this machine, as hostname(1) prints it. Doesn't query a name service.
package enum MachineName {
    /// Read once. See gethostname(2); a name that is too long is truncated.
    package static let current: String = {
        var buffer = [CChar](repeating: 0, count: 257)
        _ = csluice_host_name(&buffer, buffer.count - 1)
        return String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }()
}

extension FileIO {
    /// An identifier of the current boot, or `nil` if the system has none. Doesn't block.
    package var bootIdentity: String? { BootIdentity.read(system) }
}

/// An identifier of the current boot, or `nil` if the system has none. Bytes that were written but not synced survive the process, but not
/// a reboot.
enum BootIdentity {
    private static let known = Lock<String?>(nil)

    /// Returns the identifier. The first call makes a system call, which doesn't block.
    static func read(_ system: SystemInterface) -> String? {
        if let known = known.withLock({ $0 }) { return known }
        guard let found = ask(system), !found.isEmpty else { return nil }
        known.withLock { $0 = found }
        return found
    }

    #if canImport(Darwin)
    private static func ask(_ system: SystemInterface) -> String? {
        var buffer = [CChar](repeating: 0, count: 64)
        var size = buffer.count
        guard sysctlbyname("kern.bootsessionuuid", &buffer, &size, nil, 0) == 0 else { return nil }
        return String(decoding: buffer.prefix(size).prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
    #else
    /// See random(4). A container sees its host's identifier.
    private static func ask(_ system: SystemInterface) -> String? {
        guard let descriptor = try? system.open("/proc/sys/kernel/random/boot_id", O_RDONLY) else { return nil }
        defer { system.closeQuietly(descriptor) }
        return withUnsafeTemporaryAllocation(byteCount: 64, alignment: 1) { buffer in
            guard let count = try? system.read(descriptor, into: buffer, "boot_id") else { return nil }
            return String(decoding: buffer.prefix(count).prefix { $0 > 0x20 }, as: UTF8.self)
        }
    }
    #endif
}
