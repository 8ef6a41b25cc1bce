internal import CSluiceFiles

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

// Extended attributes. Their names are bytes that end in zero, as in directories. See xattr(7).
extension Kernel {
    /// How often a list or a value may grow between asking for its size and reading it before that counts as an error.
    static var maximumAttributeAttempts: Int { 100 }

    /// The names of all attributes that the process may see. See listxattr(2).
    func attributeNames(of target: MetadataCalls.Target, _ path: String) throws(FileError) -> [[CChar]] {
        let list = try growing("list the attributes of", path) { calls.metadata.listAttributes(target, $0) }
        return list.split(separator: 0).map { name in name.map { CChar(bitPattern: $0) } + [0] }
    }

    /// The value of an attribute, nil if the file has none of this name. See getxattr(2).
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

    /// See setxattr(2).
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

    /// See removexattr(2).
    func removeAttribute(_ name: [CChar], of target: MetadataCalls.Target, _ path: String) throws(FileError) {
        let result = retrying {
            name.withUnsafeBufferPointer { calls.metadata.removeAttribute(target, $0.baseAddress!) }
        }
        try checkAttribute(result, "remove", name, path)
    }

    /// The bytes of a call that says ERANGE while its buffer is too small, and the size when the buffer is empty.
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
            // It may grow once more before the next attempt.
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
                "The file system has no such attributes, or the name is in no namespace: on Linux begin it with 'user.'."
        case ERANGE:
            error.code = .nameTooLong
            error.remedy = "The name of an attribute has 1 to 255 bytes (127 on Apple platforms)."
        case ENOSPC:
            error.remedy = "The device is full, or the value larger than the file system allows (ext4: about 4 KB)."
        case EPERM, EACCES:
            error.remedy =
                "Check owner and mode. On Linux only files and directories have attributes of users, and only root sets others."
        default: break
        }
        throw error
    }

    private static func operation(_ verb: String, _ name: [CChar]) -> String {
        let name = String(decoding: name.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return "\(verb) the attribute '\(name)' of"
    }
}
