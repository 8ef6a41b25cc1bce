internal import CSluiceFiles

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

// Extended attributes. Like file names, their names are zero-terminated bytes. See xattr(7).
extension Kernel {
    static var maximumAttributeAttempts: Int { 100 }

    func attributeNames(of target: MetadataCalls.Target, _ path: String) throws(FileError) -> [[CChar]] {
        let list = try growing("list the attributes of", path) { calls.metadata.listAttributes(target, $0) }
        return list.split(separator: 0).map { name in name.map { CChar(bitPattern: $0) } + [0] }
    }

    func attribute(
        _ name: [CChar], of target: MetadataCalls.Target, _ path: String
    ) throws(FileError) -> [UInt8]? {
        do throws(FileError) {
            return try growing(Self.operation("read", name), path) { buffer in
                name.withUnsafeBufferPointer { calls.metadata.attribute(target, $0.baseAddress!, buffer) }
            }
        } catch  where error.systemError == ENODATA {
            return nil
        }
    }

    func setAttribute(
        _ name: [CChar], of target: MetadataCalls.Target, to value: some ContiguousBytes,
        _ writing: AttributeWriting, _ path: String
    ) throws(FileError) {
        let result = value.withUnsafeBytes { value in
            name.withUnsafeBufferPointer { name in
                retrying { calls.metadata.setAttribute(target, name.baseAddress!, value, writing) }
            }
        }
        try checkAttribute(result, "set", name, path)
    }

    func removeAttribute(_ name: [CChar], of target: MetadataCalls.Target, _ path: String) throws(FileError) {
        let result = retrying {
            name.withUnsafeBufferPointer { calls.metadata.removeAttribute(target, $0.baseAddress!) }
        }
        try checkAttribute(result, "remove", name, path)
    }

    /// Returns the bytes of a call that fails with ERANGE if its buffer is too small, and returns the size if its buffer is empty.
    private func growing(
        _ operation: @autoclosure () -> String, _ path: String, _ call: (UnsafeMutableRawBufferPointer) -> Int
    ) throws(FileError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: 256)
        var result = 0
        for _ in 0..<Self.maximumAttributeAttempts {
            result = retrying { bytes.withUnsafeMutableBytes { call($0) } }
            guard result == -Int(ERANGE) else { break }
            let needed = retrying { call(UnsafeMutableRawBufferPointer(start: nil, count: 0)) }
            try check(needed, operation(), path)
            // The value may grow again before the next attempt.
            bytes = [UInt8](repeating: 0, count: needed + 256)
        }
        try check(result, operation(), path)
        return Array(bytes.prefix(result))
    }

    private func checkAttribute(_ result: CInt, _ verb: String, _ name: [CChar], _ path: String) throws(FileError) {
        guard result < 0 else { return }
        var error = FileError(operation: Self.operation(verb, name), path: path, systemError: -result)
        switch -result {
        case EOPNOTSUPP, ENOTSUP:
            error.remedy =
                "Begin the name with 'user.' on Linux, or use a file system that supports extended attributes."
        case ERANGE:
            error.code = .nameTooLong
            error.remedy = "Choose a name of 1 to 255 bytes (127 on Apple platforms)."
        case ENOSPC:
            error.remedy = "Free space on the device, or store a smaller value, of at most 4 KB on ext4."
        case EPERM, EACCES:
            error.remedy =
                "Check the owner and the mode, and on Linux use a name that begins with 'user.' and a file or directory."
        default: break
        }
        throw error
    }

    private static func operation(_ verb: String, _ name: [CChar]) -> String {
        let name = String(decoding: name.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return "\(verb) the attribute '\(name)' of"
    }
}
