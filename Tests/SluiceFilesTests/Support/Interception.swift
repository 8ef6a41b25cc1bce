import Foundation
import SluiceFiles
import Synchronization

/// The calls of ``SystemCalls`` and of its groups, by the names of the properties.
///
/// Add each new call here, in `intercepted(by:observing:)` and in `documentedErrors`. Tests report a
/// missing call.
enum Call: String, CaseIterable, Sendable {
    case open, openAt, close, read, write, writeVector, waitUntilReady, truncate, changeMode, lock, unlock
    case statusOfDescriptor
    case sync, syncData, syncDirectory
    case status, rename, renameWithoutReplacing, link, unlink, removeDirectory, createDirectory, unlinkAt, list
    case startThread

    // ReadinessCalls
    case readinessMakeQueue = "readiness.makeQueue"
    case readinessSetInterest = "readiness.setInterest"
    case readinessRemoveInterest = "readiness.removeInterest"
    case readinessWaitForEvents = "readiness.waitForEvents"
    case readinessPoll = "readiness.poll"
    case readinessMakeWakeup = "readiness.makeWakeup"
    case readinessSignal = "readiness.signal"
    case readinessClear = "readiness.clear"
    case readinessRead = "readiness.read"
    case readinessWrite = "readiness.write"
    case readinessKind = "readiness.kind"
    case readinessNow = "readiness.readiness"
    case readinessCanBeWaitedFor = "readiness.canBeWaitedFor"
    case readinessFlags = "readiness.flags"
    case readinessSetFlags = "readiness.setFlags"
    case readinessReopen = "readiness.reopen"

    // RandomAccessCalls
    case readAt = "randomAccess.readAt"
    case writeAt = "randomAccess.writeAt"
    case seek = "randomAccess.seek"
    case preallocate = "randomAccess.preallocate"
    case punchHole = "randomAccess.punchHole"
    case adviseFile = "randomAccess.adviseFile"
    case map = "randomAccess.map"
    case unmap = "randomAccess.unmap"
    case adviseMemory = "randomAccess.adviseMemory"
    case populate = "randomAccess.populate"
    case touch = "randomAccess.touch"
    case inlineOpen = "inline.open"
    case inlineRead = "inline.read"
    case inlineIsLocal = "inline.isLocal"

    // DirectoryCalls
    case readEntries = "directories.readEntries"
    case statusAt = "directories.statusAt"
    case renameAt = "directories.renameAt"
    case renameAtWithoutReplacing = "directories.renameAtWithoutReplacing"
    case linkAt = "directories.linkAt"
    case createAt = "directories.createAt"
    case makeDirectoryAt = "directories.makeDirectoryAt"
    case symbolicLinkAt = "directories.symbolicLinkAt"
    case readLinkAt = "directories.readLinkAt"
    case makeFIFOAt = "directories.makeFIFOAt"
    case setTimesAt = "directories.setTimesAt"
    case changeModeAt = "directories.changeModeAt"
    case changeOwnerAt = "directories.changeOwnerAt"

    // CopyCalls
    case copyingClone = "copying.clone"
    case copyingCopyRange = "copying.copyRange"
    case copyingNextData = "copying.nextData"
    case copyingNextHole = "copying.nextHole"

    // MetadataCalls
    case metadataSetTimes = "metadata.setTimes"
    case metadataSetTimesOfDescriptor = "metadata.setTimesOfDescriptor"
    case metadataChangeMode = "metadata.changeMode"
    case metadataChangeOwner = "metadata.changeOwner"
    case metadataChangeOwnerOfDescriptor = "metadata.changeOwnerOfDescriptor"
    case metadataEffectiveUser = "metadata.effectiveUser"
    case metadataSymbolicLink = "metadata.symbolicLink"
    case metadataLink = "metadata.link"
    case metadataReadLink = "metadata.readLink"
    case metadataResolve = "metadata.resolve"
    case metadataListAttributes = "metadata.listAttributes"
    case metadataAttribute = "metadata.attribute"
    case metadataSetAttribute = "metadata.setAttribute"
    case metadataRemoveAttribute = "metadata.removeAttribute"

    // WatchCalls
    case watchMakeQueue = "watching.makeQueue"
    case watchAdd = "watching.addWatch"
}

extension SystemCalls {
    /// Returns these calls, with a test between the engine and the kernel.
    ///
    ///     let calls = SystemCalls.system.intercepted { call in call == .sync ? EIO : nil }
    ///
    /// - Parameters:
    ///   - hook: Called before each call, on the thread that makes it. An error number fails the call without making it;
    ///     nil makes the call. A close is always made, because the kernel frees the number even if it reports an error.
    ///   - observer: Called with each result; for a failure, the negative error number.
    func intercepted(
        by hook: @escaping @Sendable (Call) -> CInt?,
        observing observer: @escaping @Sendable (_ call: Call, _ result: Int) -> Void = { _, _ in }
    ) -> SystemCalls {
        let interceptor = Interceptor(hook: hook, observer: observer)
        let real = self
        var calls = self
        interceptor.wrap(.open, &calls.open)
        interceptor.wrap(.openAt, &calls.openAt)
        interceptor.wrap(.close, &calls.close)
        interceptor.wrap(.read, &calls.read)
        interceptor.wrap(.write, &calls.write)
        interceptor.wrap(.writeVector, &calls.writeVector)
        interceptor.wrap(.waitUntilReady, &calls.waitUntilReady)
        interceptor.wrap(.truncate, &calls.truncate)
        interceptor.wrap(.changeMode, &calls.changeMode)
        interceptor.wrap(.lock, &calls.lock)
        interceptor.wrap(.unlock, &calls.unlock)
        interceptor.wrap(.sync, &calls.sync)
        interceptor.wrap(.syncData, &calls.syncData)
        interceptor.wrap(.syncDirectory, &calls.syncDirectory)
        interceptor.wrap(.rename, &calls.rename)
        interceptor.wrap(.renameWithoutReplacing, &calls.renameWithoutReplacing)
        interceptor.wrap(.link, &calls.link)
        interceptor.wrap(.unlink, &calls.unlink)
        interceptor.wrap(.removeDirectory, &calls.removeDirectory)
        interceptor.wrap(.createDirectory, &calls.createDirectory)
        interceptor.wrap(.unlinkAt, &calls.unlinkAt)
        interceptor.wrap(.readAt, &calls.randomAccess.readAt)
        interceptor.wrap(.writeAt, &calls.randomAccess.writeAt)
        interceptor.wrap(.seek, &calls.randomAccess.seek)
        interceptor.wrap(.preallocate, &calls.randomAccess.preallocate)
        interceptor.wrap(.punchHole, &calls.randomAccess.punchHole)
        interceptor.wrap(.adviseFile, &calls.randomAccess.adviseFile)
        interceptor.wrap(.unmap, &calls.randomAccess.unmap)
        interceptor.wrap(.adviseMemory, &calls.randomAccess.adviseMemory)
        interceptor.wrap(.populate, &calls.randomAccess.populate)
        interceptor.wrap(.touch, &calls.randomAccess.touch)
        interceptor.wrap(.inlineOpen, &calls.inline.open)
        interceptor.wrap(.inlineRead, &calls.inline.read)
        interceptor.wrap(.inlineIsLocal, &calls.inline.isLocal)
        interceptor.wrap(.renameAt, &calls.directories.renameAt)
        interceptor.wrap(.renameAtWithoutReplacing, &calls.directories.renameAtWithoutReplacing)
        interceptor.wrap(.linkAt, &calls.directories.linkAt)
        interceptor.wrap(.createAt, &calls.directories.createAt)
        interceptor.wrap(.makeDirectoryAt, &calls.directories.makeDirectoryAt)
        interceptor.wrap(.symbolicLinkAt, &calls.directories.symbolicLinkAt)
        interceptor.wrap(.readLinkAt, &calls.directories.readLinkAt)
        interceptor.wrap(.makeFIFOAt, &calls.directories.makeFIFOAt)
        interceptor.wrap(.setTimesAt, &calls.directories.setTimesAt)
        interceptor.wrap(.changeModeAt, &calls.directories.changeModeAt)
        interceptor.wrap(.changeOwnerAt, &calls.directories.changeOwnerAt)
        interceptor.wrap(.watchMakeQueue, &calls.watching.makeQueue)
        interceptor.wrap(.watchAdd, &calls.watching.addWatch)
        // A parameter pack supports neither `inout` nor escaping closures.
        calls.statusOfDescriptor = { descriptor, status in
            interceptor.run(.statusOfDescriptor) { real.statusOfDescriptor(descriptor, &status) }
        }
        calls.status = { path, following, status in
            interceptor.run(.status) { real.status(path, following, &status) }
        }
        calls.randomAccess.map = { descriptor, count, isChangeable, address in
            interceptor.run(.map) { real.randomAccess.map(descriptor, count, isChangeable, &address) }
        }
        calls.list = { directory, limit, entries in
            interceptor.run(.list) { real.list(directory, limit, &entries) }
        }
        calls.directories.readEntries = { directory, entries in
            interceptor.run(.readEntries) { real.directories.readEntries(directory, &entries) }
        }
        calls.directories.statusAt = { directory, name, following, status in
            interceptor.run(.statusAt) { real.directories.statusAt(directory, name, following, &status) }
        }
        calls.startThread = { stackSize, body in
            interceptor.run(.startThread) { real.startThread(stackSize, body) }
        }
        interceptor.wrap(&calls.readiness)
        interceptor.wrap(&calls.copying)
        interceptor.wrap(&calls.metadata)
        return calls
    }

    /// Returns these calls, with only the nth call (from 0, of any name) passed to `hook`.
    func intercepted(at number: Int, by hook: @escaping @Sendable (Call) -> CInt?) -> SystemCalls {
        let count = Atomic(0)
        return intercepted { call in
            count.wrappingAdd(1, ordering: .relaxed).oldValue == number ? hook(call) : nil
        }
    }
}

/// The code between a call of the engine and the kernel.
struct Interceptor: Sendable {
    let hook: @Sendable (Call) -> CInt?
    let observer: @Sendable (Call, Int) -> Void

    /// Replaces a call.
    func wrap<each Argument, Result: SignedInteger & FixedWidthInteger & SendableMetatype>(
        _ name: Call, _ call: inout @Sendable (repeat each Argument) -> Result
    ) {
        let real = call
        call = { (argument: repeat each Argument) in run(name) { real(repeat each argument) } }
    }

    func run<Result: SignedInteger & FixedWidthInteger>(_ name: Call, _ call: () -> Result) -> Result {
        let result: Result
        if let number = hook(name) {
            if name == .close { _ = call() }
            result = -Result(number)
        } else {
            result = call()
        }
        observer(name, Int(result))
        return result
    }
}

// MARK: - Groups

extension Interceptor {
    /// Intercepts all calls that copy within the kernel.
    func wrap(_ calls: inout CopyCalls) {
        wrap(.copyingClone, &calls.clone)
        wrap(.copyingCopyRange, &calls.copyRange)
        wrap(.copyingNextData, &calls.nextData)
        wrap(.copyingNextHole, &calls.nextHole)
    }

    /// Intercepts all calls for times, modes, links and extended attributes.
    func wrap(_ calls: inout MetadataCalls) {
        wrap(.metadataSetTimes, &calls.setTimes)
        wrap(.metadataSetTimesOfDescriptor, &calls.setTimesOfDescriptor)
        wrap(.metadataChangeMode, &calls.changeMode)
        wrap(.metadataChangeOwner, &calls.changeOwner)
        wrap(.metadataChangeOwnerOfDescriptor, &calls.changeOwnerOfDescriptor)
        wrap(.metadataEffectiveUser, &calls.effectiveUser)
        wrap(.metadataSymbolicLink, &calls.symbolicLink)
        wrap(.metadataLink, &calls.link)
        wrap(.metadataReadLink, &calls.readLink)
        wrap(.metadataResolve, &calls.resolve)
        wrap(.metadataListAttributes, &calls.listAttributes)
        wrap(.metadataAttribute, &calls.attribute)
        wrap(.metadataSetAttribute, &calls.setAttribute)
        wrap(.metadataRemoveAttribute, &calls.removeAttribute)
    }
}

extension Call {
    /// The errors of path resolution. See path_resolution(7).
    private static let ofPaths: [CInt] = [
        EACCES, EINTR, EIO, ELOOP, ENAMETOOLONG, ENOENT, ENOMEM, ENOTDIR, ESTALE,
    ]

    /// See `documentedErrors`.
    var documentedErrorsOfMetadata: [CInt] {
        switch self {
        // ioctl_ficlone(2), copy_file_range(2)
        case .copyingClone:
            [EBADF, EINTR, EINVAL, EIO, EISDIR, ENOSPC, ENOSYS, ENOTTY, EOPNOTSUPP, EPERM, ETXTBSY, EXDEV]
        case .copyingCopyRange:
            [
                EBADF, EFBIG, EINTR, EINVAL, EIO, EISDIR, ENOMEM, ENOSPC, ENOSYS, EOPNOTSUPP, EOVERFLOW, EPERM, ETXTBSY,
                EXDEV,
            ]
        // lseek(2)
        case .copyingNextData, .copyingNextHole: [EINTR, EINVAL, EIO, EOPNOTSUPP, EOVERFLOW]
        // utimensat(2), chmod(2), chown(2)
        case .metadataSetTimes: Self.ofPaths + [EINVAL, EPERM, EROFS]
        case .metadataSetTimesOfDescriptor: [EACCES, EINTR, EINVAL, EIO, EPERM, EROFS]
        case .metadataChangeMode: Self.ofPaths + [EOPNOTSUPP, EPERM, EROFS]
        case .metadataChangeOwner: Self.ofPaths + [EDQUOT, EINVAL, EPERM, EROFS]
        case .metadataChangeOwnerOfDescriptor: [EDQUOT, EINTR, EINVAL, EIO, EPERM, EROFS]
        // geteuid(2)
        case .metadataEffectiveUser: []
        // symlink(2), linkat(2), readlink(2), realpath(3)
        case .metadataSymbolicLink: Self.ofPaths + [EDQUOT, EEXIST, ENOSPC, EPERM, EROFS]
        case .metadataLink: Self.ofPaths + [EDQUOT, EEXIST, EMLINK, ENOSPC, EOPNOTSUPP, EPERM, EROFS, EXDEV]
        case .metadataReadLink: Self.ofPaths + [EINVAL]
        case .metadataResolve: Self.ofPaths + [EINVAL]
        // listxattr(2), getxattr(2), setxattr(2), removexattr(2)
        case .metadataListAttributes: Self.ofPaths + [E2BIG, EOPNOTSUPP, EPERM]
        case .metadataAttribute: Self.ofPaths + [E2BIG, ENODATA, EOPNOTSUPP, EPERM]
        case .metadataSetAttribute:
            Self.ofPaths + [E2BIG, EDQUOT, EEXIST, EINVAL, ENODATA, ENOSPC, EOPNOTSUPP, EPERM, ERANGE, EROFS]
        case .metadataRemoveAttribute: Self.ofPaths + [EINVAL, ENODATA, EOPNOTSUPP, EPERM, ERANGE, EROFS]
        default: []
        }
    }
}

extension Interceptor {
    /// Intercepts all calls that wait for descriptors.
    func wrap(_ calls: inout ReadinessCalls) {
        let real = calls
        wrap(.readinessMakeQueue, &calls.makeQueue)
        wrap(.readinessSetInterest, &calls.setInterest)
        wrap(.readinessRemoveInterest, &calls.removeInterest)
        wrap(.readinessSignal, &calls.signal)
        wrap(.readinessClear, &calls.clear)
        wrap(.readinessRead, &calls.read)
        wrap(.readinessWrite, &calls.write)
        wrap(.readinessKind, &calls.kind)
        wrap(.readinessNow, &calls.readiness)
        wrap(.readinessCanBeWaitedFor, &calls.canBeWaitedFor)
        wrap(.readinessFlags, &calls.flags)
        wrap(.readinessSetFlags, &calls.setFlags)
        wrap(.readinessReopen, &calls.reopen)
        calls.waitForEvents = { queue, milliseconds, events in
            run(.readinessWaitForEvents) { real.waitForEvents(queue, milliseconds, &events) }
        }
        calls.poll = { milliseconds, entries in run(.readinessPoll) { real.poll(milliseconds, &entries) } }
        calls.makeWakeup = { ends in run(.readinessMakeWakeup) { real.makeWakeup(&ends) } }
    }
}
