#if os(Linux)
import Foundation
import SluiceFiles
import TestSupport
import Testing

/// System calls made as another user: setfsuid(2) affects one thread and also takes away root's capabilities for files.
private let setFileUser = unsafeBitCast(dlsym(nil, "setfsuid"), to: (@convention(c) (UInt32) -> CInt).self)
private let setFileGroup = unsafeBitCast(dlsym(nil, "setfsgid"), to: (@convention(c) (UInt32) -> CInt).self)

func becomeFileUser(_ user: UInt32) {
    _ = setFileGroup(user)
    _ = setFileUser(user)
}

let nobody: UInt32 = 65534

extension SystemCalls {
    /// The kernel, called as a user without privileges. Needs root.
    static func made(by user: UInt32, failing hook: @escaping @Sendable (Call) -> CInt? = { _ in nil }) -> SystemCalls {
        system.intercepted { call in
            if call != .startThread { becomeFileUser(user) }
            return hook(call)
        } observing: { call, _ in
            if call != .startThread { becomeFileUser(0) }
        }
    }
}

/// An access control list as Linux stores it: see acl(5).
func accessList(_ entries: (tag: UInt16, bits: UInt16, id: Int32)...) -> Data {
    var list = Data([2, 0, 0, 0])
    for (tag, bits, id) in entries {
        withUnsafeBytes(of: tag.littleEndian) { list.append(contentsOf: $0) }
        withUnsafeBytes(of: bits.littleEndian) { list.append(contentsOf: $0) }
        withUnsafeBytes(of: id.littleEndian) { list.append(contentsOf: $0) }
    }
    return list
}

private let accessName = "system.posix_acl_access"
private let defaultName = "system.posix_acl_default"

/// The owner may write, user 7 may read, and the group has no access. The mode is 0640, because its bits for the group are the mask's.
private var readableBySeven: Data { accessList((1, 6, -1), (2, 4, 7), (4, 0, -1), (16, 4, -1), (32, 0, -1)) }

/// User 7 has no access, and everyone else may read.
private var refusedToSeven: Data { accessList((1, 6, -1), (2, 0, 7), (4, 4, -1), (16, 4, -1), (32, 4, -1)) }

/// User 7 may write new files.
private var writableBySeven: Data { accessList((1, 7, -1), (2, 7, 7), (4, 7, -1), (16, 7, -1), (32, 5, -1)) }

/// The ways to put new bytes under a name.
enum Replacing: String, CaseIterable, Sendable {
    case write, writeUnderChosenName, writeOverStaleName, copy, publish, publishCheckpointed

    /// Replaces the file `file` in the directory, or creates it.
    func run(_ io: FileIO, _ directory: URL) async throws {
        let file = directory.appending(path: "file")
        let bytes = pattern(5000, seed: 1)
        switch self {
        case .write: try await bytes.asyncWrite(to: file, using: io)
        case .writeUnderChosenName:
            try await bytes.asyncWrite(to: file, options: .init(temporaryName: "file.part"), using: io)
        case .writeOverStaleName:
            let stale = directory.appending(path: "file.part")
            try pattern(9).write(to: stale)
            chmod(stale.path, 0o666)
            try await bytes.asyncWrite(to: file, options: .init(temporaryName: "file.part"), using: io)
        case .copy:
            let source = directory.appending(path: "source")
            try bytes.write(to: source)
            try await io.copy(source, to: file, options: .init(existing: .replace, attributes: []))
        case .publish:
            let part = directory.appending(path: "file.part")
            let stream = try await part.openForWriting(permissions: 0o600, locked: true, using: io)
            try await stream.write(bytes)
            try await stream.publish(as: file, existing: .replace)
        case .publishCheckpointed:
            let places = CheckpointedFile.Places(
                file: directory.appending(path: "file.part"), checkpoint: directory.appending(path: "file.check"),
                temporary: directory.appending(path: "file.check-new"))
            let opened = try #require(try await CheckpointedFile.openLocked(places, mode: .always, using: io))
            _ = try await opened.file.append([bytes])
            try await opened.file.publish(
                as: file, existing: .replace, durability: .full, removesOnFailure: false)
        }
        #expect(same(contents(of: file), bytes))
    }
}

/// Inspects a directory after each call of the engine, as another user's program might.
private final class Observer: Sendable {
    private let directory = Guarded<URL?>(nil)
    private let seen = Guarded<[String]>([])

    var complaints: [String] { seen.withLock { $0 } }

    func watch(_ url: URL?) { directory.withLock { $0 = url } }

    func calls(_ base: SystemCalls = .system) -> SystemCalls {
        base.intercepted { _ in
            nil
        } observing: { call, _ in
            self.look(after: call)
        }
    }

    private func look(after call: Call) {
        guard let directory = directory.withLock({ $0 }) else { return }
        for name in names(in: directory) where name != "source" {
            let path = directory.appending(path: name).path
            var status = stat()
            guard lstat(path, &status) == 0 else { continue }
            if name == "file.part", status.st_size == 9 { continue }  // The stale file, with its old bytes.
            var complaint: String?
            if status.st_mode & 0o077 != 0 { complaint = "has mode \(String(status.st_mode & 0o7777, radix: 8))" }
            if geteuid() == 0 {
                becomeFileUser(nobody)
                let descriptor = open(path, O_RDONLY)
                becomeFileUser(0)
                if descriptor >= 0 {
                    close(descriptor)
                    complaint = "can be opened by another user"
                }
            }
            if let complaint { seen.withLock { $0.append("\(name) \(complaint) after \(call.rawValue)") } }
        }
    }
}

@Suite(.timeLimit(.minutes(15))) struct `Access to a replaced file` {
    private static let isRoot = getuid() == 0

    private func status(_ url: URL) -> stat {
        var found = stat()
        lstat(url.path, &found)
        return found
    }

    private func shown(_ url: URL) -> String {
        let status = status(url)
        return "\(status.st_uid):\(status.st_gid) \(String(status.st_mode & 0o7777, radix: 8))"
    }

    private func old(_ directory: URL, mode: mode_t, owner: (uid_t, gid_t)? = nil) throws -> URL {
        let file = directory.appending(path: "file")
        unlink(file.path)
        try pattern(300).write(to: file)
        if let owner { #expect(chown(file.path, owner.0, owner.1) == 0) }
        #expect(chmod(file.path, mode) == 0)
        return file
    }

    @Test(arguments: Replacing.allCases)
    func `replacing a private file never exposes the new bytes to another user`(way: Replacing) async throws {
        let observer = Observer()
        try await withIO(calls: observer.calls()) { io, directory in
            #expect(chmod(directory.path, 0o755) == 0)
            let file = try old(directory, mode: 0o600)
            observer.watch(directory)
            try await way.run(io, directory)
            observer.watch(nil)
            #expect(observer.complaints == [])
            #expect(mode(of: file) == 0o600)
        }
    }

    @Test func `a stale temporary file that another process has open doesn't get the new bytes`() async throws {
        try await withIO { io, directory in
            _ = try old(directory, mode: 0o600)
            let stale = directory.appending(path: "file.part")
            try pattern(9).write(to: stale)
            let reader = open(stale.path, O_RDONLY)
            defer { close(reader) }
            let options = FileWriteOptions(temporaryName: "file.part")
            try await pattern(5000, seed: 1).asyncWrite(
                to: directory.appending(path: "file"), options: options, using: io)
            var byte: UInt8 = 0
            #expect(pread(reader, &byte, 1, 100) == 0)
        }
    }

    @Test(.enabled(if: isRoot, "only root gives files away"), arguments: Replacing.allCases)
    func `the replaced file's owner, group and mode are kept if the process may set them`(way: Replacing) async throws {
        try await withIO { io, directory in
            for mode in [0o4755, 0o6755, 0o2750, 0o640, 0o604, 0o444, 0o000] as [mode_t] {
                let file = try old(directory, mode: mode, owner: (7, 8))
                try await way.run(io, directory)
                #expect(shown(file) == "7:8 \(String(mode, radix: 8))")
            }
        }
    }

    @Test(.enabled(if: isRoot, "only root gives files away"), arguments: Replacing.allCases)
    func `if the owner and group can't be set, no user gains access`(way: Replacing) async throws {
        let calls = SystemCalls.system.intercepted { $0 == .metadataChangeOwnerOfDescriptor ? EPERM : nil }
        try await withIO(calls: calls) { io, directory in
            for (mode, wanted) in [
                (0o4755, "755"), (0o6755, "755"), (0o2750, "700"), (0o640, "600"), (0o604, "600"), (0o664, "644"),
                (0o444, "444"), (0o466, "444"),
            ] as [(mode_t, String)] {
                let file = try old(directory, mode: mode, owner: (7, 8))
                try await way.run(io, directory)
                #expect(shown(file) == "0:0 \(wanted)", "\(String(mode, radix: 8))")
            }
        }
    }

    @Test(.enabled(if: isRoot, "only root gives files away"), arguments: Replacing.allCases)
    func `if only the owner can't be set, the group is kept`(way: Replacing) async throws {
        var calls = SystemCalls.system
        calls.metadata.changeOwnerOfDescriptor = { descriptor, user, group in
            user == nil ? SystemCalls.system.metadata.changeOwnerOfDescriptor(descriptor, user, group) : -EPERM
        }
        try await withIO(calls: calls) { io, directory in
            for (mode, wanted) in [(0o4755, "755"), (0o2750, "750"), (0o640, "640"), (0o604, "604")]
                as [(mode_t, String)]
            {
                let file = try old(directory, mode: mode, owner: (7, 8))
                try await way.run(io, directory)
                #expect(shown(file) == "0:8 \(wanted)", "\(String(mode, radix: 8))")
            }
        }
    }

    @Test(.enabled(if: isRoot, "only root gives files away"))
    func `access rights are set after the bytes are written, and the mode is set last`() async throws {
        try await withLists { directory in
            let log = CallLog()
            let real = SystemCalls.system
            var calls = SystemCalls.recorded(in: log)
            calls.open = { path, flags, mode in
                if flags & O_CREAT != 0 { log.add("create \(String(mode, radix: 8))") }
                return real.open(path, flags, mode)
            }
            calls.changeMode = { descriptor, mode in
                log.add("mode \(String(mode, radix: 8))")
                return real.changeMode(descriptor, mode)
            }
            calls.metadata.changeOwnerOfDescriptor = { descriptor, user, group in
                log.add("owner \(user ?? 0):\(group ?? 0)")
                return real.metadata.changeOwnerOfDescriptor(descriptor, user, group)
            }
            calls.metadata.setAttribute = { target, name, value, writing in
                log.add("list")
                return real.metadata.setAttribute(target, name, value, writing)
            }
            let io = FileIO(calls: calls)
            let file = try old(directory, mode: 0o600, owner: (7, 8))
            #expect(setAttribute(accessName, of: file, to: readableBySeven) && chmod(file.path, 0o4640) == 0)
            try await pattern(9).asyncWrite(to: file, using: io)
            await io.shutdown()
            let rights = ["owner 7:8", "list", "mode 4640"]
            #expect(log.all == ["create 600", "write"] + rights + ["fsync", "close", "rename"])
        }
    }

    @Test func `replacing a file looks up each fact only once`() async throws {
        let log = CallLog()
        let calls = SystemCalls.system.intercepted { _ in
            nil
        } observing: { call, _ in
            if call != .startThread { log.add(call.rawValue) }
        }
        try await withIO(calls: calls) { io, directory in
            let file = try old(directory, mode: 0o640)
            try await pattern(4096).asyncWrite(to: file, using: io)
            let rights = ["metadata.attribute", "status", "statusOfDescriptor", "metadata.attribute", "changeMode"]
            // The engine has probed for the inline lane first.
            #expect(Array(log.all.dropFirst()) == ["status", "open", "write"] + rights + ["sync", "close", "rename"])
            #expect(mode(of: file) == 0o640)
        }
    }

    @Test(arguments: [ENOSPC, EDQUOT])
    func `a file is published even if its directory has no room for another file`(error: CInt) async throws {
        var calls = SystemCalls.system
        calls.open = { path, flags, mode in
            if String(cString: path).hasSuffix("/file.check-new") { return -error }
            return SystemCalls.system.open(path, flags, mode)
        }
        try await withIO(calls: calls) { io, directory in
            try await Replacing.publishCheckpointed.run(io, directory)
            #expect(names(in: directory) == ["file"])
            #expect(mode(of: directory.appending(path: "file")) == 0o600)
        }
    }

    @Test func `publishing removes the temporary file that a killed process left behind`() async throws {
        try await withIO { io, directory in
            close(open(directory.appending(path: "file.check-new").path, O_CREAT | O_WRONLY, 0o600))
            let plain = directory.appending(path: "plain")
            close(open(plain.path, O_CREAT | O_WRONLY, 0o666))
            try await Replacing.publishCheckpointed.run(io, directory)
            #expect(names(in: directory) == ["file", "plain"])
            #expect(mode(of: directory.appending(path: "file")) == mode(of: plain))
        }
    }

    // MARK: Access control lists

    /// A directory whose file system has access control lists, or `nil`.
    private func withLists(_ body: (URL) async throws -> Void) async throws {
        try await withIO { _, directory in
            let probe = directory.appending(path: "probe")
            try pattern(1).write(to: probe)
            guard setAttribute(accessName, of: probe, to: readableBySeven) else {
                return print("skipped: this file system has no access control lists")
            }
            unlink(probe.path)
            try await body(directory)
        }
    }

    @Test(arguments: Replacing.allCases)
    func `the replaced file's access control list is kept`(way: Replacing) async throws {
        try await withLists { directory in
            for list in [readableBySeven, refusedToSeven] {
                let io = FileIO()
                let file = try old(directory, mode: 0o600)
                #expect(setAttribute(accessName, of: file, to: list))
                let before = mode(of: file)
                try await way.run(io, directory)
                #expect(attribute(accessName, of: file) == list)
                #expect(mode(of: file) == before)
                await io.shutdown()
            }
        }
    }

    @Test(arguments: Replacing.allCases)
    func `if the access control list can't be set, no user gains access`(way: Replacing) async throws {
        try await withLists { directory in
            for (list, wanted) in [(readableBySeven, 0o600), (refusedToSeven, 0o600)] {
                let io = FileIO(calls: .system.intercepted { $0 == .metadataSetAttribute ? EOPNOTSUPP : nil })
                let file = try old(directory, mode: 0o600)
                #expect(setAttribute(accessName, of: file, to: list))
                try await way.run(io, directory)
                #expect(attribute(accessName, of: file) == nil)
                #expect(mode(of: file) == wanted)
                await io.shutdown()
            }
        }
    }

    @Test(arguments: Replacing.allCases)
    func `the directory's default list doesn't widen access to a replaced file`(way: Replacing) async throws {
        try await withLists { directory in
            let io = FileIO()
            let file = try old(directory, mode: 0o640)
            #expect(setAttribute(defaultName, of: directory, to: writableBySeven))
            try await way.run(io, directory)
            #expect(attribute(accessName, of: file) == nil)
            #expect(mode(of: file) == 0o640)
            await io.shutdown()
        }
    }

    @Test(arguments: [false, true], [Replacing.write, .writeUnderChosenName, .copy, .publishCheckpointed])
    func `a new file gets the mode and the list that its directory gives new files`(hasList: Bool, way: Replacing)
        async throws
    {
        try await withLists { directory in
            let io = FileIO()
            if hasList { #expect(setAttribute(defaultName, of: directory, to: writableBySeven)) }
            let plain = directory.appending(path: "plain")
            close(open(plain.path, O_CREAT | O_WRONLY, 0o666))
            try await way.run(io, directory)
            let file = directory.appending(path: "file")
            #expect(mode(of: file) == mode(of: plain))
            #expect(attribute(accessName, of: file) == attribute(accessName, of: plain))
            #expect((attribute(accessName, of: file) != nil) == hasList)
            await io.shutdown()
        }
    }

    @Test func `a copy gets the original's list together with its mode`() async throws {
        try await withLists { directory in
            let io = FileIO()
            let (source, copy) = (directory.appending(path: "source"), directory.appending(path: "copy"))
            try pattern(10).write(to: source)
            #expect(setAttribute(accessName, of: source, to: readableBySeven))
            try await io.copy(source, to: copy)
            #expect(attribute(accessName, of: copy) == readableBySeven)
            // Without the mode, the list isn't copied either: the copy has the rights of the file that it replaces.
            let file = try old(directory, mode: 0o664)
            try await io.copy(source, to: file, options: .init(existing: .replace, attributes: .extendedAttributes))
            #expect(attribute(accessName, of: file) == nil)
            #expect(mode(of: file) == 0o664)
            await io.shutdown()
            // If the list can't be set, the mode grants no more access than the list.
            let refusing = FileIO(calls: .system.intercepted { $0 == .metadataSetAttribute ? EOPNOTSUPP : nil })
            try await refusing.copy(source, to: copy, options: .init(existing: .replace))
            #expect(attribute(accessName, of: copy) == nil)
            #expect(mode(of: copy) == 0o600)
            await refusing.shutdown()
        }
    }

    @Test func `a copied tree gets its originals' lists and not the destination's default list`() async throws {
        try await withLists { directory in
            let io = FileIO()
            let (source, copy) = (directory.appending(path: "source"), directory.appending(path: "copy"))
            try makeTree(["source/inner/plain", "source/inner/listed"], in: directory)
            #expect(chmod(source.appending(path: "inner/plain").path, 0o640) == 0)
            #expect(chmod(source.appending(path: "inner").path, 0o750) == 0)
            #expect(setAttribute(accessName, of: source.appending(path: "inner/listed"), to: readableBySeven))
            #expect(setAttribute(accessName, of: source, to: writableBySeven))
            #expect(setAttribute(defaultName, of: directory, to: writableBySeven))
            try await io.copyTree(source, to: copy)
            #expect(attribute(accessName, of: copy) == writableBySeven)
            #expect(attribute(accessName, of: copy.appending(path: "inner")) == nil)
            #expect(mode(of: copy.appending(path: "inner")) == 0o750)
            #expect(attribute(accessName, of: copy.appending(path: "inner/plain")) == nil)
            #expect(mode(of: copy.appending(path: "inner/plain")) == 0o640)
            #expect(attribute(accessName, of: copy.appending(path: "inner/listed")) == readableBySeven)
            await io.shutdown()
        }
    }
}

// MARK: - Directories of other users

@Suite(.timeLimit(.minutes(15)), .enabled(if: getuid() == 0, "needs root to become another user"))
struct `Directories of other users` {
    /// With `EINVAL`, the file system can't rename without replacing, so link and unlink are used instead.
    @Test(arguments: [nil, EINVAL] as [CInt?])
    func `a rename that a sticky directory refuses leaves only the old name`(denied: CInt?) async throws {
        var calls = SystemCalls.made(by: nobody) { call in
            [.renameWithoutReplacing, .renameAtWithoutReplacing].contains(call) ? denied : nil
        }
        calls.metadata.effectiveUser = { Int(nobody) }
        try await withIO(calls: calls) { io, directory in
            let (file, new) = (directory.appending(path: "file"), directory.appending(path: "new"))
            try pattern(3).write(to: file)
            #expect(chown(file.path, 7, 7) == 0 && chmod(file.path, 0o666) == 0 && chmod(directory.path, 0o1777) == 0)
            await expectFileError(.permissionDenied) { try await io.rename(file, to: new) }
            #expect(names(in: directory) == ["file"])
            for entry in try await io.entries(of: directory) {
                await expectFileError(.permissionDenied) { try await entry.rename(to: "new") }
            }
            #expect(names(in: directory) == ["file"])
            // The owner of the file may rename it there.
            #expect(chown(file.path, nobody, nobody) == 0)
            try await io.rename(file, to: new)
            for entry in try await io.entries(of: directory) { try await entry.rename(to: "newer") }
            #expect(names(in: directory) == ["newer"])
        }
    }

    @Test func `a tree is copied into a directory that can be searched but not listed`() async throws {
        try await withIO(calls: .made(by: nobody)) { io, directory in
            try makeTree(["source/a", "closed/open/"], in: directory)
            let (closed, open) = (directory.appending(path: "closed"), directory.appending(path: "closed/open"))
            #expect(chmod(directory.path, 0o755) == 0 && chmod(closed.path, 0o711) == 0 && chmod(open.path, 0o777) == 0)
            try await io.copyTree(directory.appending(path: "source"), to: open.appending(path: "copy"))
            #expect(names(in: open.appending(path: "copy")) == ["a"])
            // The directory can be changed but not listed.
            #expect(chmod(open.path, 0o733) == 0)
            try await io.copyTree(directory.appending(path: "source"), to: open.appending(path: "second"))
            #expect(names(in: open.appending(path: "second")) == ["a"])
        }
    }

    @Test func `a failed copy is removed, including directories that it made read-only or unreadable`() async throws {
        let synced = Guarded(0)
        let calls = SystemCalls.made(by: nobody) { call in
            guard call == .syncDirectory else { return nil }
            return synced.withLock {
                $0 += 1; return $0
            } == 4 ? EIO : nil
        }
        try await withIO(calls: calls) { io, directory in
            #expect(chmod(directory.path, 0o777) == 0)
            try makeTree(["source/a/b/x", "source/a/y", "source/c/z"], in: directory)
            for (name, mode) in [("a/b", 0o055), ("a", 0o555), ("c", 0o555)] as [(String, mode_t)] {
                #expect(chmod(directory.appending(path: "source/\(name)").path, mode) == 0)
            }
            await expectFileError(.inputOutput) {
                try await io.copyTree(
                    directory.appending(path: "source"), to: directory.appending(path: "copy"),
                    options: .init(durability: .fullAndDirectory))
            }
            #expect(names(in: directory) == ["source"])
            for name in ["a", "a/b", "c"] { chmod(directory.appending(path: "source/\(name)").path, 0o755) }
        }
    }

    @Test func `a temporary directory is removed even if it contains read-only directories`() async throws {
        try await withIO(calls: .made(by: nobody)) { io, directory in
            #expect(chmod(directory.path, 0o777) == 0)
            try await io.withTemporaryDirectory(in: directory) { temporary in
                try await io.createDirectory(at: temporary.appending(path: "a/b"))
                try await pattern(1).asyncWrite(to: temporary.appending(path: "a/b/file"), using: io)
                try await io.setPermissions(0o000, of: temporary.appending(path: "a/b"))
                try await io.setPermissions(0o500, of: temporary.appending(path: "a"))
            }
            #expect(names(in: directory) == [])
        }
    }
}

// MARK: - Permissions

/// System calls made as a user who owns no files here: setfsuid(2) affects one thread and also takes away root's
/// capabilities for files.
private func callsOfNobody() throws -> SystemCalls {
    typealias SetID = @convention(c) (UInt32) -> CInt
    let symbol = try #require(dlsym(nil, "setfsuid"))
    let setUser = unsafeBitCast(symbol, to: SetID.self)
    @Sendable func asNobody<R>(_ body: () -> R) -> R {
        _ = setUser(65534)
        defer { _ = setUser(0) }
        return body()
    }
    let real = SystemCalls.system
    var calls = real
    calls.open = { path, flags, mode in asNobody { real.open(path, flags, mode) } }
    calls.rename = { from, to in asNobody { real.rename(from, to) } }
    calls.unlink = { path in asNobody { real.unlink(path) } }
    calls.createDirectory = { path, mode in asNobody { real.createDirectory(path, mode) } }
    calls.status = { path, following, status in asNobody { real.status(path, following, &status) } }
    return calls
}

@Suite(.enabled(if: getuid() == 0, "needs root to become another user")) struct Permissions {
    @Test func `a forbidden operation throws permissionDenied and names the path`() async throws {
        try await withIO(calls: try callsOfNobody()) { io, directory in
            let secret = directory.appending(path: "secret")
            try pattern(5).write(to: secret)
            // The directory has mode 0700 and belongs to root.
            var error = await expectFileError(.permissionDenied) { try await Data(asyncContentsOf: secret, using: io) }
            #expect(error?.subject == secret.path && error?.systemError == EACCES)
            await expectFileError(.permissionDenied) { try await io.status(of: secret) }
            await expectFileError(.permissionDenied) { try await pattern(1).asyncWrite(to: secret, using: io) }

            // Now the directory can be searched but not changed.
            #expect(chmod(directory.path, 0o755) == 0 && chmod(secret.path, 0o600) == 0)
            await expectFileError(.permissionDenied) { try await Data(asyncContentsOf: secret, using: io) }
            error = await expectFileError(.permissionDenied) { try await pattern(1).asyncWrite(to: secret, using: io) }
            #expect(error?.remedy != nil)
            await expectFileError(.permissionDenied) { try await io.remove(secret) }
            await expectFileError(.permissionDenied) {
                try await io.createDirectory(at: directory.appending(path: "x"))
            }
            await expectFileError(.permissionDenied) { try await secret.withFileForWriting(using: io) { _ in } }
            #expect(same(contents(of: secret), pattern(5)))
        }
    }
}
#endif
