internal import CSluiceFiles

/// The name of this machine, as hostname(1) prints it. Asks no name service.
package enum HostName {
    /// Read once. See gethostname(2); a name that is too long is cut off.
    package static let current: String = {
        var buffer = [CChar](repeating: 0, count: 257)
        _ = csluice_host_name(&buffer, buffer.count - 1)
        return String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }()
}
