import Foundation
import SluiceFiles
import TestSupport
import Testing

/// The error that a sandbox returns for newer calls, if Scripts/checks/file-systems.sh runs these tests in a sandbox.
let deniedCalls = ProcessInfo.processInfo.environment["SLUICE_DENIED"]

/// Each system call of each operation fails once with each error number on its man page.
///
/// Disabled if calls are denied: then the engine makes other calls, whose failures mean something else. The operations that are named
/// after a missing call cover those.
@Suite(
    .timeLimit(.minutes(15)),
    .enabled(if: deniedCalls == nil, "skipped: not all calls can be made here"))
struct `Faults of every call` {
    @Test(arguments: FaultedOperation.all)
    func `each fault gives its own error and leaves nothing open or half done`(operation: FaultedOperation) async throws
    {
        let report = try await operation.runWithEachFault()
        print("faults: \(operation.name): \(report.calls.count) calls, \(report.runs) faults")
        #expect(report.runs > 0, "no call was made through the seam")
        let shown = report.complaints.prefix(12).joined(separator: "\n")
        #expect(report.complaints.isEmpty, "\(report.complaints.count) of \(report.runs):\n\(shown)")
    }

    @Test func `operations reach every call of the seam`() async throws {
        var reached: Set<Call> = []
        for operation in FaultedOperation.all { reached.formUnion(try await operation.calls()) }
        // The number of calls of the readiness lane depends on the timing of its thread and the tasks. It has separate tests.
        let counted = Call.allCases.filter { !$0.rawValue.hasPrefix("readiness.") }
        #expect(Set(counted).subtracting(reached) == [], "no operation of the table makes these calls")
    }
}

// MARK: - The seam

struct `The seam of system calls` {
    /// The calls of a table and its groups, as `read` or `randomAccess.readAt`.
    private static func names(of table: Any, in group: String = "") -> Set<String> {
        Mirror(reflecting: table).children.reduce(into: []) { names, child in
            let name = group + (child.label ?? "?")
            let isGroup = Mirror(reflecting: child.value).displayStyle == .struct
            if isGroup { names.formUnion(Self.names(of: child.value, in: name + ".")) } else { names.insert(name) }
        }
    }

    @Test func `every call of the seam can be intercepted`() {
        let seam = Self.names(of: SystemCalls.system)
        let known = Set(Call.allCases.map(\.rawValue))
        #expect(seam.subtracting(known) == [], "missing in `Call`")
        #expect(known.subtracting(seam) == [], "no longer in the seam")
    }

    @Test func `a hook fails the calls it names, lets the rest through, and an observer gets all results`() async throws
    {
        let seen = Guarded<[String]>([])
        let calls = SystemCalls.system.intercepted { call in
            call == .syncData ? EIO : nil
        } observing: { call, result in
            if ![.startThread, .inlineRead].contains(call) {
                seen.withLock { $0.append("\(call) \(result < 0 ? result : min(result, 1))") }
            }
        }
        try await withIO(calls: calls) { io, directory in
            let url = directory.appending(path: "file")
            let error = await expectFileError(.inputOutput) {
                try await pattern(10).asyncWrite(to: url, options: .init(durability: .data), using: io)
            }
            #expect(error?.systemError == EIO)
            #expect(
                seen.withLock { $0 } == [
                    "status -2", "open 1", "write 1", "syncData -5", "unlink 0", "close 0",
                ])
        }
    }

    @Test func `a close that is failed still closes the descriptor`() async throws {
        try await withIO(calls: .failing(.close, with: EIO)) { io, directory in
            let url = directory.appending(path: "file")
            let descriptor = Guarded<CInt>(-1)
            let calls = SystemCalls.system.intercepted {
                $0 == .close ? EIO : nil
            } observing: { call, result in
                if call == .open { descriptor.withLock { $0 = CInt(result) } }
            }
            let file = url.path.withCString { calls.open($0, O_RDWR | O_CREAT, 0o600) }
            #expect(file >= 0 && file == descriptor.withLock { $0 })
            let before = try #require(calls.identity(of: file))
            #expect(calls.close(file) == -EIO)
            #expect(calls.identity(of: file) != before, "the number is free, or another file's")
        }
    }
}

extension SystemCalls {
    /// Device and inode of a descriptor, nil if it is closed.
    fileprivate func identity(of descriptor: CInt) -> [UInt64]? {
        var status = RawStatus()
        return statusOfDescriptor(descriptor, &status) == 0 ? [status.device, status.inode] : nil
    }
}

// MARK: - One operation with each fault

/// An operation that runs once for each failure of each of its system calls.
///
///     FaultedOperation("read a whole file") { directory in
///         try pattern(5000).write(to: directory.appending(path: "file"))
///     } run: { io, directory in
///         try expectSame(await Data(asyncContentsOf: directory.appending(path: "file"), using: io), pattern(5000))
///     }
///
/// Each run must succeed, if the failure is one to ignore, or throw a ``FileError`` with that error number. It must
/// leave no descriptor open, and the directory must pass `check`.
struct FaultedOperation: Sendable, CustomTestStringConvertible {
    let name: String

    /// Creates the files of the operation in its directory, without the code under test.
    let prepare: @Sendable (_ directory: URL) throws -> Void

    /// Runs the operation, and throws ``WrongResult`` if its result is wrong.
    let run: @Sendable (_ io: FileIO, _ directory: URL) async throws -> Void

    /// Calls that always fail, to reach the calls that replace them.
    var denied: [Call: CInt] = [:]

    /// Calls that fail the first time they are made.
    var deniedOnce: [Call: CInt] = [:]

    /// Checks the directory afterwards. Returns a complaint, or nil.
    var check: @Sendable (_ directory: URL, _ outcome: Outcome) -> String? = { _, _ in nil }

    /// Calls whose failures need not be reported, such as closing a descriptor that was only read: all calls of the name, or only those
    /// at these places.
    var ignored: [Call: [Int]?] = [:]

    /// Errors about names that the operation must accept, such as "no such file". Only `check` checks the result after such an error.
    var believed: [Call: Set<CInt>] = [:]

    var testDescription: String { name }

    init(
        _ name: String, _ prepare: @escaping @Sendable (URL) throws -> Void = { _ in },
        run: @escaping @Sendable (FileIO, URL) async throws -> Void
    ) {
        self.name = name
        self.prepare = prepare
        self.run = run
    }

    func denying(_ calls: [Call: CInt]) -> Self { with { $0.denied = calls } }
    func denyingOnce(_ calls: [Call: CInt]) -> Self { with { $0.deniedOnce = calls } }
    func checking(_ check: @escaping @Sendable (URL, Outcome) -> String?) -> Self { with { $0.check = check } }
    func ignoring(_ call: Call, at ordinals: Int...) -> Self {
        with { $0.ignored[call] = .some(ordinals.isEmpty ? nil : ordinals) }
    }
    func believing(_ call: Call, _ errors: CInt...) -> Self {
        with { $0.believed[call, default: []].formUnion(errors) }
    }

    private func with(_ change: (inout Self) -> Void) -> Self {
        var copy = self
        change(&copy)
        return copy
    }
}

/// One failure of one call.
struct Fault: Sendable, CustomStringConvertible {
    /// The call's place among all calls of the operation, from 0.
    var number: Int
    var call: Call
    /// Its place among the calls of its name, from 0.
    var ordinal: Int
    var error: CInt
    /// Whether all later calls of this name fail too, as on a full device.
    var isLasting: Bool

    var description: String {
        "\(call.rawValue) \(ordinal)\(isLasting ? " and later" : "") with \(FileError(operation: "", path: "", systemError: error).name)"
    }
}

/// The outcome of an operation with a fault.
struct Outcome: Sendable {
    var fault: Fault
    /// nil if it succeeded.
    var error: FileError?
    /// The calls of the operation without a fault.
    var calls: [Call]

    var isSuccess: Bool { error == nil }

    /// Whether the fault came before a name was claimed by renameat2, or by link and unlink in its place.
    var isBeforeClaim: Bool { isBefore(calls.contains(.link) ? .unlink : .renameWithoutReplacing) }

    /// Without renameat2, removing the old name may fail, and then removing the new one fails too.
    var isStuckWithBothNames: Bool { calls.contains(.link) && fault.call == .unlink && fault.isLasting }

    /// Whether the fault came before the last call of these names had succeeded.
    func isBefore(_ names: Call...) -> Bool { fault.number <= calls.lastIndex { names.contains($0) } ?? .max }
}

/// The error of an operation that succeeded with a wrong result.
struct WrongResult: Error, CustomStringConvertible {
    var description: String
    init(_ description: String) { self.description = description }
}

func expectSame(_ found: Data, _ wanted: Data) throws(WrongResult) {
    if found != wanted { throw WrongResult("\(found.count) bytes are not the \(wanted.count) wanted") }
}

// MARK: - Running

extension FaultedOperation {
    /// Faults that must not make an operation fail: the engine retries, waits, or has nothing to do.
    private static func isPassedOver(_ fault: Fault) -> Bool {
        switch (fault.call, fault.error) {
        case (_, EINTR), (.read, EAGAIN), (.write, EAGAIN), (.writeVector, EAGAIN): true
        // The inline lane reports no errors, because another lane starts over.
        case (.inlineOpen, _), (.inlineRead, _), (.inlineIsLocal, _): true
        // The readiness lane waits and retries; without non-blocking calls, it reopens the file.
        case (.readinessRead, EAGAIN), (.readinessWrite, EAGAIN): true
        case (.readinessRead, EOPNOTSUPP), (.readinessWrite, EOPNOTSUPP): true
        // Nothing depends on the flag that the call removes.
        case (.readinessSetFlags, _): true
        // A file system without this operation: see `SystemInterface.syncDirectory`.
        case (.syncDirectory, EINVAL): true
        // link(2) and unlink(2) replace it.
        case (.renameWithoutReplacing, EINVAL), (.renameWithoutReplacing, ENOSYS),
            (.renameAtWithoutReplacing, EINVAL), (.renameAtWithoutReplacing, ENOSYS):
            true
        // A sandbox denies each such call. One refusal is about the names.
        case (.renameWithoutReplacing, EPERM), (.renameAtWithoutReplacing, EPERM): fault.isLasting
        // Closing the file releases the lock.
        case (.unlock, _): true
        // A file system without locks.
        case (.lock, EOPNOTSUPP), (.lock, ENOLCK), (.lock, EINVAL), (.lock, ENOSYS): true
        default: false
        }
    }

    /// Faults that a failing device or process repeats.
    private static let lasting: Set<CInt> = [EIO, ENOSPC, EDQUOT, EMFILE, EACCES, EROFS, ENOMEM, EPERM]

    /// The results of all runs.
    struct Report: Sendable {
        var calls: [Call] = []
        var runs = 0
        var complaints: [String] = []
    }

    /// Runs the operation without a fault, then with each fault once, in a new directory each time.
    func runWithEachFault() async throws -> Report {
        try await FileIO.shared.withTemporaryDirectory(prefix: "sluice-faults", in: memoryDirectory) { parent in
            var report = Report()
            // One run before, for calls that a process makes only once.
            _ = await attempt(nil, in: parent.appending(path: "first"))
            let (calls, complaint) = await attempt(nil, in: parent.appending(path: "plain"))
            report.calls = calls
            report.complaints += complaint
            for (number, call) in calls.enumerated() {
                let ordinal = calls[..<number].count { $0 == call }
                for error in call.documentedErrors {
                    for isLasting in Self.lasting.contains(error) ? [false, true] : [false] {
                        let fault = Fault(
                            number: number, call: call, ordinal: ordinal, error: error, isLasting: isLasting)
                        let (_, complaints) = await attempt(
                            (fault, calls), in: parent.appending(path: "\(report.runs)"))
                        report.runs += 1
                        report.complaints += complaints
                    }
                }
            }
            return report
        }
    }

    /// The calls of the operation without a fault.
    func calls() async throws -> [Call] {
        try await FileIO.shared.withTemporaryDirectory(prefix: "sluice-faults", in: memoryDirectory) { parent in
            await attempt(nil, in: parent.appending(path: "plain")).0
        }
    }

    /// One run in a new directory, which is removed. Returns its calls and the complaint.
    private func attempt(_ plan: (fault: Fault, calls: [Call])?, in directory: URL) async -> ([Call], [String]) {
        var complaints: [String] = []
        func complain(_ text: String) {
            complaints.append("\(plan.map { "\($0.fault)" } ?? "without a fault"): \(text)")
        }
        do {
            try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: false)
            defer { try? FileManager.default.removeItem(at: directory) }
            try prepare(directory)

            let ledger = Ledger(plan?.fault)
            let calls = SystemCalls.system.intercepted { [denied, deniedOnce] call in
                let (ordinal, error) = ledger.begin(call)
                return error ?? denied[call] ?? (ordinal == 0 ? deniedOnce[call] : nil)
            } observing: {
                ledger.note($0, $1)
            }
            let io = FileIO(configuration: .init(concurrency: 1), calls: calls)
            let result: Result<Void, any Error>
            do {
                try await run(io, directory)
                result = .success(())
            } catch {
                result = .failure(error)
            }
            await io.shutdown()

            if io.statistics.openCount != 0 { complain("\(io.statistics.openCount) counted as open") }
            if ledger.open != 0 { complain("\(ledger.open) descriptors left open") }
            judge(result, plan, in: directory, complain)
            return (ledger.calls, complaints)
        } catch {
            complain("could not be tried: \(error)")
            return ([], complaints)
        }
    }

    private func judge(
        _ result: Result<Void, any Error>, _ plan: (fault: Fault, calls: [Call])?, in directory: URL,
        _ complain: (String) -> Void
    ) {
        guard let (fault, calls) = plan else {
            if case .failure(let error) = result { complain("\(error)") }
            return
        }
        var outcome = Outcome(fault: fault, error: nil, calls: calls)
        // A lease on a file: an existing file is reopened, to wait for the end of the lease.
        let isLease = fault.call == .open && fault.error == EWOULDBLOCK
        let isBelieved = believed[fault.call]?.contains(fault.error) == true || isLease
        let isIgnored = ignored[fault.call].map { $0?.contains(fault.ordinal) ?? true } == true
        switch result {
        case .success:
            if !Self.isPassedOver(fault), !isIgnored, !isBelieved { complain("was not noticed") }
        case .failure(let error as FileError):
            outcome.error = error
            let isTold = error.systemError == fault.error && !Self.isPassedOver(fault)
            if !isTold, !isBelieved { complain("gives \(error)") }
            if error.operation.isEmpty || error.subject.isEmpty { complain("is not named: \(error)") }
            if fault.call != .startThread, !error.subject.hasPrefix(directory.path) {
                complain("has another path: \(error)")
            }
            let known = FileError(operation: "", path: "", systemError: error.systemError)
            if known.remedy != nil && error.remedy == nil { complain("has lost its remedy: \(error)") }
        case .failure(let error):
            if !isBelieved { complain("throws \(error)") }
            return
        }
        if let complaint = check(directory, outcome) { complain(complaint) }
    }
}

/// Counts the calls of one run, fails the chosen one, and counts the open descriptors.
private final class Ledger: Sendable {
    private struct State {
        var calls: [Call] = []
        var open = 0
    }

    private let fault: Fault?
    private let state = Guarded(State())

    init(_ fault: Fault?) { self.fault = fault }

    var calls: [Call] { state.withLock { $0.calls } }
    var open: Int { state.withLock { $0.open } }

    /// Counts a call. Returns its place among the calls of its name, and the error number with which it must fail.
    func begin(_ call: Call) -> (ordinal: Int, error: CInt?) {
        let (number, ordinal) = state.withLock { state in
            defer { state.calls.append(call) }
            return (state.calls.count, state.calls.count { $0 == call })
        }
        guard let fault, call == fault.call else { return (ordinal, nil) }
        let isHit = number == fault.number || (fault.isLasting && number > fault.number)
        return (ordinal, isHit ? fault.error : nil)
    }

    func note(_ call: Call, _ result: Int) {
        if call.opensDescriptor, result >= 0 { state.withLock { $0.open += 1 } }
        if call == .close { state.withLock { $0.open -= 1 } }
    }
}

extension Call {
    /// Whether its result is a new descriptor.
    var opensDescriptor: Bool {
        [
            .open, .openAt, .createAt, .inlineOpen, .watchMakeQueue, .readinessMakeQueue, .readinessMakeWakeup,
            .readinessReopen,
        ].contains(self)
    }
}

extension FileError {
    /// `ENOSPC`.
    var name: String {
        let line = description
        guard let open = line.firstIndex(of: "("), let close = line[open...].firstIndex(of: ")") else { return line }
        return String(line[line.index(after: open)..<close])
    }
}

// MARK: - The errors of each call

extension Call {
    /// The error numbers on the call's man page, and those that network file systems and quotas add.
    ///
    /// Without EFAULT and EBADF for calls on the engine's memory and descriptors, because those would be bugs in the engine.
    var documentedErrors: [CInt] {
        switch self {
        // open(2)
        case .open, .createAt, .openAt:
            [
                EACCES, EBUSY, EDQUOT, EEXIST, EFBIG, EINTR, EINVAL, EISDIR, ELOOP, EMFILE, ENAMETOOLONG, ENFILE,
                ENODEV,
                ENOENT, ENOMEM, ENOSPC, ENOTDIR, ENXIO, EOPNOTSUPP, EOVERFLOW, EPERM, EROFS, ETXTBSY, EWOULDBLOCK, EIO,
                ESTALE, ETIMEDOUT,
            ]
        // close(2)
        case .close: [EINTR, EIO, ENOSPC, EDQUOT]
        // read(2), write(2), writev(2)
        case .read: [EAGAIN, EBADF, EINTR, EINVAL, EIO, EISDIR, ESTALE, ETIMEDOUT, ENOMEM]
        case .write, .writeVector:
            [
                EAGAIN, EBADF, EDESTADDRREQ, EDQUOT, EFBIG, EINTR, EINVAL, EIO, ENOSPC, EPERM, EPIPE, ESTALE, ETIMEDOUT,
                ENOMEM,
            ]
        // poll(2)
        case .waitUntilReady: [EINTR, EINVAL, ENOMEM]
        // ftruncate(2)
        case .truncate: [EACCES, EFBIG, EINTR, EINVAL, EIO, EISDIR, EPERM, EROFS, ETXTBSY, ENOSPC, EDQUOT]
        // fchmod(2)
        case .changeMode: [EACCES, EINTR, EIO, ENOMEM, EPERM, EROFS, EOPNOTSUPP]
        // flock(2); mounts without locks return EOPNOTSUPP or ENOSYS
        case .lock: [EINTR, EINVAL, ENOLCK, EWOULDBLOCK, EOPNOTSUPP, ENOSYS, EIO]
        case .unlock: [EINTR, EIO]
        // fstat(2), stat(2)
        case .statusOfDescriptor: [EIO, ENOMEM, EOVERFLOW, ESTALE]
        case .status, .statusAt: [EACCES, EINTR, EIO, ELOOP, ENAMETOOLONG, ENOENT, ENOMEM, ENOTDIR, EOVERFLOW, ESTALE]
        // fsync(2), fdatasync(2)
        case .sync, .syncData, .syncDirectory: [EINTR, EIO, EROFS, EINVAL, ENOSPC, EDQUOT]
        // rename(2), renameat2(2)
        case .rename, .renameAt: Self.renameErrors
        case .renameWithoutReplacing, .renameAtWithoutReplacing: Self.renameErrors + [ENOSYS]
        // link(2)
        case .link, .linkAt:
            [
                EACCES, EDQUOT, EEXIST, EINTR, EIO, ELOOP, EMLINK, ENAMETOOLONG, ENOENT, ENOMEM, ENOSPC, ENOTDIR, EPERM,
                EROFS, EXDEV, EOPNOTSUPP,
            ]
        // unlink(2), unlinkat(2), rmdir(2)
        case .unlink:
            [EACCES, EBUSY, EINTR, EIO, EISDIR, ELOOP, ENAMETOOLONG, ENOENT, ENOMEM, ENOTDIR, EPERM, EROFS]
        case .unlinkAt:
            [
                EACCES, EBUSY, EINTR, EINVAL, EIO, EISDIR, ELOOP, ENAMETOOLONG, ENOENT, ENOMEM, ENOTDIR, ENOTEMPTY,
                EPERM, EROFS,
            ]
        case .removeDirectory:
            [EACCES, EBUSY, EINTR, EINVAL, ELOOP, ENAMETOOLONG, ENOENT, ENOMEM, ENOTDIR, ENOTEMPTY, EPERM, EROFS]
        // mkdir(2)
        case .createDirectory, .makeDirectoryAt, .makeFIFOAt:
            [
                EACCES, EDQUOT, EEXIST, EINTR, EINVAL, ELOOP, EMLINK, ENAMETOOLONG, ENOENT, ENOMEM, ENOSPC, ENOTDIR,
                EPERM, EROFS, EIO,
            ]
        // fdopendir(3), readdir(3), getdents(2), and fcntl(2) for the descriptor that it closes
        case .list: [EINTR, EIO, EMFILE, EINVAL, ENOENT, ENOMEM, ENOTDIR]
        // pread(2), pwrite(2), lseek(2), fcntl(2), fallocate(2), posix_fadvise(2)
        case .readAt: [EINTR, EINVAL, EIO, EISDIR, ENXIO, EOVERFLOW, ESPIPE, ESTALE, ETIMEDOUT, ENOMEM]
        case .writeAt:
            [
                EDQUOT, EFBIG, EINTR, EINVAL, EIO, ENOSPC, ENXIO, EOVERFLOW, EPERM, ESPIPE, ESTALE, ETIMEDOUT, ENOMEM,
            ]
        case .seek: [EINVAL, ENXIO, EOVERFLOW, ESPIPE]
        case .preallocate, .punchHole:
            [
                EDQUOT, EFBIG, EINTR, EINVAL, EIO, ENODEV, ENOSPC, ENOSYS, EOPNOTSUPP, EPERM, ESPIPE, ETXTBSY,
            ]
        case .adviseFile: [EINVAL, ESPIPE]
        // mmap(2), munmap(2), madvise(2)
        case .map: [EACCES, EAGAIN, EINVAL, EIO, ENFILE, ENODEV, ENOMEM, EOVERFLOW, EPERM]
        case .unmap: [EINVAL, ENOMEM]
        case .adviseMemory: [EAGAIN, EINVAL, EIO, ENOMEM, EPERM]
        case .populate: [EFAULT, EHWPOISON, EINTR, EINVAL, ENOMEM, ENOSYS]
        // The call has no result.
        case .touch: []
        // openat2(2), preadv2(2), fstatfs(2)
        case .inlineOpen: Self.open.documentedErrors + [EAGAIN, E2BIG, ENOSYS]
        case .inlineRead: Self.read.documentedErrors + [EOPNOTSUPP, ENOSYS]
        case .inlineIsLocal: [EINTR, EIO, ENOMEM, ENOSYS, EOVERFLOW]
        // inotify_init1(2), inotify_add_watch(2)
        case .watchMakeQueue: [EINVAL, EMFILE, ENFILE, ENOMEM, ENOSYS]
        case .watchAdd: [EACCES, EINVAL, EINTR, ENAMETOOLONG, ENOENT, ENOMEM, ENOSPC, ENOTDIR, ELOOP]
        // utimensat(2), fchownat(2)
        case .changeModeAt: [EACCES, EINTR, EIO, ENOENT, ENOTDIR, EOPNOTSUPP, EPERM, EROFS]
        case .setTimesAt, .changeOwnerAt:
            [EACCES, EINTR, EINVAL, EIO, ELOOP, ENAMETOOLONG, ENOENT, ENOMEM, ENOTDIR, EPERM, EROFS, EDQUOT]
        // symlinkat(2), readlinkat(2)
        case .symbolicLinkAt:
            [EACCES, EDQUOT, EEXIST, EINTR, EIO, ELOOP, ENAMETOOLONG, ENOENT, ENOMEM, ENOSPC, ENOTDIR, EPERM, EROFS]
        case .readLinkAt: [EACCES, EINTR, EINVAL, EIO, ELOOP, ENAMETOOLONG, ENOENT, ENOMEM, ENOTDIR]
        // getdents64(2)
        case .readEntries: [EINTR, EIO, EINVAL, ENOENT, ENOTDIR, ESTALE, EACCES, ENOMEM]
        // pthread_create(3)
        case .startThread: [EAGAIN, EINVAL, EPERM, ENOMEM]
        // epoll_create1(2); sandboxes return EPERM or ENOSYS
        case .readinessMakeQueue: [EMFILE, ENFILE, ENOMEM, ENOSYS, EPERM]
        // epoll_ctl(2)
        case .readinessSetInterest: [EBADF, EEXIST, ENOENT, ENOMEM, ENOSPC, EPERM]
        case .readinessRemoveInterest: [EBADF, ENOENT]
        // epoll_wait(2), poll(2)
        case .readinessWaitForEvents: [EINTR, EBADF, EINVAL]
        case .readinessPoll: [EINTR, EINVAL, ENOMEM]
        // eventfd(2), pipe(2)
        case .readinessMakeWakeup: [EMFILE, ENFILE, ENODEV, ENOMEM]
        case .readinessSignal, .readinessClear: [EINTR]
        // read(2), recv(2), preadv2(2)
        case .readinessRead: [EAGAIN, EBADF, ECONNRESET, EINTR, EINVAL, EIO, EOPNOTSUPP, ENOMEM]
        // write(2), send(2), pwritev2(2)
        case .readinessWrite: [EAGAIN, EBADF, ECONNRESET, EINTR, EINVAL, EIO, ENOMEM, EOPNOTSUPP, EPIPE]
        // statx(2), poll(2), fcntl(2)
        case .readinessKind: [EBADF, EIO, ENOMEM]
        case .readinessNow: [EINTR, ENOMEM]
        case .readinessCanBeWaitedFor: []
        case .readinessFlags, .readinessSetFlags: [EBADF, EPERM]
        // open(2) of /proc/self/fd; ENOTSUP if that isn't possible, ENOENT without /proc
        case .readinessReopen: [EACCES, EMFILE, ENFILE, ENOENT, ENOTSUP, ENXIO]
        case _ where rawValue.hasPrefix("copying.") || rawValue.hasPrefix("metadata."): documentedErrorsOfMetadata
        default: []
        }
    }

    private static var renameErrors: [CInt] {
        [
            EACCES, EBUSY, EDQUOT, EEXIST, EINTR, EINVAL, EIO, EISDIR, ELOOP, EMLINK, ENAMETOOLONG, ENOENT, ENOMEM,
            ENOSPC,
            ENOTDIR, ENOTEMPTY, EPERM, EROFS, EXDEV,
        ]
    }
}
