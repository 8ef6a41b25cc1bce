internal import CSluiceFiles

/// The system calls for times, modes, links and extended attributes, replaceable one by one like those of ``SystemCalls``.
package struct MetadataCalls: Sendable {
    package typealias Path = SystemCalls.Path

    package enum Target {
        case descriptor(CInt)
        case path(Path, followingLinks: Bool)
    }

    // MARK: Times, modes, owners; nil changes nothing

    package var setTimes:
        @Sendable (_ path: Path, _ modified: FileTime?, _ accessed: FileTime?, _ followingLinks: Bool) -> CInt
    package var setTimesOfDescriptor:
        @Sendable (_ descriptor: CInt, _ modified: FileTime?, _ accessed: FileTime?) -> CInt
    package var changeMode: @Sendable (_ path: Path, _ mode: UInt32) -> CInt
    package var changeOwner: @Sendable (_ path: Path, _ user: UInt32?, _ group: UInt32?, _ followingLinks: Bool) -> CInt
    package var changeOwnerOfDescriptor: @Sendable (_ descriptor: CInt, _ user: UInt32?, _ group: UInt32?) -> CInt

    /// The user whose permissions count. See geteuid(2).
    package var effectiveUser: @Sendable () -> Int

    // MARK: Links

    package var symbolicLink: @Sendable (_ target: Path, _ path: Path) -> CInt
    package var link: @Sendable (_ source: Path, _ destination: Path, _ followingLinks: Bool) -> CInt
    package var readLink: @Sendable (_ path: Path, _ into: UnsafeMutableRawBufferPointer) -> Int
    package var resolve: @Sendable (_ path: Path, _ into: UnsafeMutableRawBufferPointer) -> Int

    // MARK: Extended attributes; an empty buffer asks for the size

    package var listAttributes: @Sendable (_ target: Target, _ into: UnsafeMutableRawBufferPointer) -> Int
    package var attribute: @Sendable (_ target: Target, _ name: Path, _ into: UnsafeMutableRawBufferPointer) -> Int
    package var setAttribute:
        @Sendable (_ target: Target, _ name: Path, _ value: UnsafeRawBufferPointer, _ writing: AttributeWriting) -> CInt
    package var removeAttribute: @Sendable (_ target: Target, _ name: Path) -> CInt
}

extension MetadataCalls {
    package static let system = MetadataCalls(
        setTimes: { path, modified, accessed, followingLinks in
            withPointers(modified, accessed) { csluice_set_times(AT_FDCWD, path, $0, $1, followingLinks) }
        },
        setTimesOfDescriptor: { descriptor, modified, accessed in
            withPointers(modified, accessed) { csluice_fset_times(descriptor, $0, $1) }
        },
        changeMode: { csluice_chmod($0, mode_t($1)) },
        changeOwner: { csluice_chown(AT_FDCWD, $0, $1 ?? .max, $2 ?? .max, $3) },
        changeOwnerOfDescriptor: { csluice_fchown($0, $1 ?? .max, $2 ?? .max) },
        effectiveUser: { Int(csluice_effective_user()) },
        symbolicLink: { csluice_symlink($0, $1) },
        link: { csluice_link_as($0, $1, $2) },
        readLink: { csluice_readlink($0, $1.baseAddress, $1.count) },
        resolve: { csluice_realpath($0, $1.baseAddress, $1.count) },
        listAttributes: { target, into in
            csluice_xattr_list(target.descriptor, target.path, target.followingLinks, into.baseAddress, into.count)
        },
        attribute: { target, name, into in
            csluice_xattr_get(
                target.descriptor, target.path, target.followingLinks, name, into.baseAddress, into.count)
        },
        setAttribute: { target, name, value, writing in
            csluice_xattr_set(
                target.descriptor, target.path, target.followingLinks, name, value.baseAddress, value.count,
                writing.flags)
        },
        removeAttribute: { target, name in
            csluice_xattr_remove(target.descriptor, target.path, target.followingLinks, name)
        })

    static func withPointers(
        _ first: FileTime?, _ second: FileTime?,
        _ body: (UnsafePointer<csluice_time>?, UnsafePointer<csluice_time>?) -> CInt
    ) -> CInt {
        let times = (first?.raw ?? csluice_time(), second?.raw ?? csluice_time())
        return withUnsafePointer(to: times.0) { one in
            withUnsafePointer(to: times.1) { two in body(first == nil ? nil : one, second == nil ? nil : two) }
        }
    }
}

extension MetadataCalls.Target {
    fileprivate var descriptor: CInt { if case .descriptor(let descriptor) = self { descriptor } else { -1 } }
    fileprivate var path: SystemCalls.Path? { if case .path(let path, _) = self { path } else { nil } }
    fileprivate var followingLinks: Bool { if case .path(_, false) = self { false } else { true } }
}

extension AttributeWriting {
    fileprivate var flags: CInt {
        switch self {
        case .createOrReplace: 0
        case .create: csluice_xattr_create
        case .replace: csluice_xattr_replace
        }
    }
}
