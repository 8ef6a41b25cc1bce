import Foundation
import SluiceFiles
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(15))) struct `Locks and publishing` {
    @Test func `a second locked open fails, and the first one's bytes stay`() async throws {
        try await withIO { io, directory in
            let part = directory.appending(path: "song.part")
            let first = try await part.openForWriting(locked: true, using: io)
            try await first.write(pattern(100))
            let error = await expectFileError(.locked) {
                try await part.withFileForWriting(locked: true, using: io) { _ in }
            }
            #expect(error?.subject == part.path && error?.remedy != nil)
            #expect(same(contents(of: part), pattern(100)))
            try await first.close()
            try await part.withFileForWriting(locked: true, using: io) { try await $0.write(pattern(3)) }
            #expect(same(contents(of: part), pattern(3)), "what was left is taken over and cut off")
            try await part.withFileForWriting(existing: .append, locked: true, using: io) {
                try await $0.write(pattern(2))
            }
            #expect(same(contents(of: part), pattern(3) + pattern(2)), "appending keeps what is there")
        }
    }

    @Test func `a file that is renamed away between opening and locking isn't written to`() async throws {
        let paths = Guarded<(from: String, to: String)?>(nil)
        let log = CallLog()
        var calls = SystemCalls.recorded(in: log)
        calls.lock = { descriptor, operation in
            log.add("lock")
            // At this moment, the other process publishes its file.
            if let names = paths.withLock({ $0.take() }) { _ = SystemCalls.system.rename(names.from, names.to) }
            return SystemCalls.system.lock(descriptor, operation)
        }
        try await withIO(calls: calls) { io, directory in
            let part = directory.appending(path: "song.part")
            let song = directory.appending(path: "song")
            try pattern(100).write(to: part)
            paths.withLock { $0 = (part.path, song.path) }
            try await part.withFileForWriting(locked: true, using: io) { try await $0.write(pattern(5)) }
            #expect(same(contents(of: song), pattern(100)), "the finished file is whole")
            #expect(same(contents(of: part), pattern(5)))
            #expect(log.all == ["create", "lock", "unlock", "close", "create", "lock", "write", "unlock", "close"])
        }
    }

    @Test func `a partial file that is also the finished file isn't truncated`() async throws {
        try await withIO { io, directory in
            // A crash between link and unlink leaves two names.
            let part = directory.appending(path: "song.part")
            let song = directory.appending(path: "song")
            try pattern(100).write(to: song)
            #expect(link(song.path, part.path) == 0)
            try await part.withFileForWriting(locked: true, using: io) { try await $0.write(pattern(5)) }
            #expect(same(contents(of: song), pattern(100)))
            #expect(same(contents(of: part), pattern(5)))
        }
    }

    @Test func `opening a file that is always renamed away gives up`() async throws {
        var calls = SystemCalls.system
        calls.status = { _, _, status in
            status = RawStatus()
            return 0
        }
        try await withIO(calls: calls) { io, directory in
            await expectFileError(.locked) {
                try await directory.appending(path: "part").withFileForWriting(locked: true, using: io) { _ in }
            }
        }
    }

    @Test(arguments: [
        (Durability.none, ["rename", "unlock", "close"]),
        (.data, ["fdatasync", "rename", "unlock", "close"]),
        (.full, ["fsync", "rename", "unlock", "close"]),
        (.fullAndDirectory, ["fsync", "rename", "open directory", "fsync directory", "close", "unlock", "close"]),
    ])
    func `publishing is one job that makes the calls of its durability level in order`(
        durability: Durability, order: [String]
    ) async throws {
        let log = CallLog()
        try await withIO(calls: .recorded(in: log)) { io, directory in
            let part = directory.appending(path: "song.part")
            let song = directory.appending(path: "song")
            let stream = try await part.openForWriting(locked: true, using: io)
            try await stream.write(pattern(10))
            let (calls, jobs) = (log.all.count, io.statistics.finishedCount)
            try await stream.publish(as: song, existing: .replace, durability: durability)
            #expect(Array(log.all[calls...]) == order)
            #expect(io.statistics.finishedCount == jobs + 1)
            #expect(same(contents(of: song), pattern(10)))
            #expect(names(in: directory) == ["song"])
        }
    }

    @Test func `publishing with fail keeps an existing file, and the partial file under its name`() async throws {
        try await withIO { io, directory in
            let part = directory.appending(path: "song.part")
            let song = directory.appending(path: "song")
            try pattern(50).write(to: song)
            let stream = try await part.openForWriting(locked: true, using: io)
            try await stream.write(pattern(10))
            do {
                try await stream.publish(as: song, existing: .fail)
                Issue.record("nothing was thrown")
            } catch let error as FileError {
                #expect(error.code == .exists && error.subject == song.path)
            }
            #expect(io.statistics.openCount == 0)
            #expect(same(contents(of: song), pattern(50)))
            #expect(same(contents(of: part), pattern(10)))
        }
    }

    @Test(arguments: [
        (Call.sync, EIO, FileError.Code.inputOutput), (.rename, EXDEV, .differentFileSystems),
        (.rename, ENOSPC, .noSpace),
    ])
    func `publishing that fails closes the file and keeps its old name`(
        call: Call, number: CInt, code: FileError.Code
    ) async throws {
        try await withIO(calls: .failing(call, with: number)) { io, directory in
            let part = directory.appending(path: "song.part")
            let stream = try await part.openForWriting(locked: true, using: io)
            do {
                try await stream.publish(as: directory.appending(path: "song"), existing: .replace)
                Issue.record("nothing was thrown")
            } catch let error as FileError {
                #expect(error.code == code)
            }
            #expect(io.statistics.openCount == 0)
            #expect(names(in: directory) == ["song.part"])
        }
    }

    @Test func `discarding removes the file, but not another file with its name`() async throws {
        try await withIO { io, directory in
            let part = directory.appending(path: "song.part")
            let stream = try await part.openForWriting(locked: true, using: io)
            let jobs = io.statistics.finishedCount
            try await stream.discard()
            #expect(io.statistics.finishedCount == jobs + 1)
            #expect(names(in: directory) == [])

            let other = try await part.openForWriting(using: io)
            try FileManager.default.removeItem(at: part)
            try pattern(7).write(to: part)
            try await other.discard()
            #expect(same(contents(of: part), pattern(7)))

            let gone = try await part.openForWriting(using: io)
            try FileManager.default.removeItem(at: part)
            try await gone.discard()
            #expect(io.statistics.openCount == 0)
        }
    }

    // MARK: Publishing that fails

    @Test(arguments: [
        (Call.sync, EIO, FileError.Code.inputOutput), (.rename, EXDEV, .differentFileSystems),
        (.rename, ENOSPC, .noSpace),
    ])
    func `publishing that fails removes the file before it releases the lock, if requested`(
        call: Call, number: CInt, code: FileError.Code
    ) async throws {
        let log = CallLog()
        var calls = SystemCalls.recorded(in: log)
        calls.fail(call, with: number)
        try await withIO(calls: calls) { io, directory in
            let part = directory.appending(path: "song.part")
            let stream = try await part.openForWriting(locked: true, using: io)
            await expectPublishError(code, of: stream) {
                try await $0.publish(as: directory.appending(path: "song"), existing: .replace, removesOnFailure: true)
            }
            #expect(log.all.suffix(3) == ["unlink", "unlock", "close"])
            #expect(io.statistics.openCount == 0)
            #expect(names(in: directory) == [])
        }
    }

    @Test(arguments: [true, false])
    func `publishing that is cancelled in the queue closes the file, and removes it if requested`(
        isRemoving: Bool
    ) async throws {
        let gate = ThreadGate()
        let log = CallLog()
        var calls = SystemCalls.recorded(in: log)
        calls.createDirectory = { path, mode in
            gate.pass()
            return SystemCalls.system.createDirectory(path, mode)
        }
        try await withIO(concurrency: 1, calls: calls) { io, directory in
            let part = directory.appending(path: "song.part")
            let publishing = Task {
                let stream = try await part.openForWriting(locked: true, using: io)
                let blocking = Task { try await io.createDirectory(at: directory) }
                await gate.waitForThreads(1)
                log.add("publish")
                do {
                    try await stream.publish(
                        as: directory.appending(path: "song"), existing: .replace, removesOnFailure: isRemoving)
                    Issue.record("nothing was thrown")
                } catch {
                    #expect(error is CancellationError)
                }
                try await blocking.value
            }
            // The directory is being created, and publishing waits for the thread.
            try await io.waitForStatistics { $0.runningCount == 1 && $0.waitingCount == 1 }
            publishing.cancel()
            try await io.waitForStatistics { $0.withdrawnCount >= 1 }
            gate.open()
            try await publishing.value
            #expect(log.all == ["create", "lock", "publish"] + (isRemoving ? ["unlink"] : []) + ["unlock", "close"])
            #expect(names(in: directory) == (isRemoving ? [] : ["song.part"]))
        }
    }

    @Test func `publishing under a URL that isn't a file URL removes the file, too`() async throws {
        try await withIO { io, directory in
            let part = directory.appending(path: "song.part")
            let stream = try await part.openForWriting(locked: true, using: io)
            await expectPublishError(.invalidPath, of: stream) {
                try await $0.publish(
                    as: URL(string: "https://example.org/song")!, existing: .replace, removesOnFailure: true)
            }
            #expect(io.statistics.openCount == 0)
            #expect(names(in: directory) == [])
        }
    }

    @Test func `a failed sync of the directory comes after the rename, and removes nothing`() async throws {
        try await withIO(calls: .failing(.syncDirectory, with: EIO)) { io, directory in
            let song = directory.appending(path: "song")
            // Even if the old name is the final one.
            for part in [directory.appending(path: "song.part"), song] {
                let stream = try await part.openForWriting(locked: true, using: io)
                try await stream.write(pattern(10))
                await expectPublishError(.inputOutput, of: stream) {
                    try await $0.publish(
                        as: song, existing: .replace, durability: .fullAndDirectory, removesOnFailure: true)
                }
                #expect(io.statistics.openCount == 0)
                #expect(same(contents(of: song), pattern(10)))
                #expect(names(in: directory) == ["song"])
            }
        }
    }

    @Test func `a file that replaced the partial file is neither published nor removed`() async throws {
        try await withIO { io, directory in
            let part = directory.appending(path: "song.part")
            let song = directory.appending(path: "song")
            try pattern(50).write(to: song)
            let stream = try await part.openForWriting(locked: true, using: io)
            try FileManager.default.removeItem(at: part)
            try pattern(7).write(to: part)
            let error = await expectPublishError(.replaced, of: stream) {
                try await $0.publish(as: song, existing: .replace, removesOnFailure: true)
            }
            #expect(error?.subject == part.path && error?.remedy?.contains("other program") == true)
            #expect(same(contents(of: song), pattern(50)))
            #expect(same(contents(of: part), pattern(7)))

            let gone = try await part.openForWriting(locked: true, using: io)
            try FileManager.default.removeItem(at: part)
            await expectPublishError(.notFound, of: gone) { try await $0.publish(as: song, existing: .replace) }
            #expect(io.statistics.openCount == 0)
            #expect(same(contents(of: song), pattern(50)))
        }
    }

    // MARK: Replaced files

    @Test func `publishing keeps the mode of the file that it replaces`() async throws {
        try await withIO { io, directory in
            let part = directory.appending(path: "song.part")
            let song = directory.appending(path: "song")
            try pattern(50).write(to: song)
            #expect(chmod(song.path, 0o4751) == 0)
            let stream = try await part.openForWriting(permissions: 0o600, locked: true, using: io)
            try await stream.write(pattern(10))
            try await stream.publish(as: song, existing: .replace)
            #expect(same(contents(of: song), pattern(10)))
            #expect(mode(of: song) == 0o4751)
            let new = try await part.openForWriting(permissions: 0o600, locked: true, using: io)
            try await new.publish(as: directory.appending(path: "new"), existing: .replace)
            #expect(mode(of: directory.appending(path: "new")) == 0o600)
        }
    }

    @Test func `publishing replaces a symbolic link itself, and refuses a FIFO or a directory`() async throws {
        try await withIO { io, directory in
            let part = directory.appending(path: "song.part")
            let (link, target) = (directory.appending(path: "link"), directory.appending(path: "target"))
            try pattern(50).write(to: target)
            #expect(symlink(target.path, link.path) == 0)
            let stream = try await part.openForWriting(locked: true, using: io)
            try await stream.publish(as: link, existing: .replace)
            #expect(same(contents(of: link), Data()))
            #expect(same(contents(of: target), pattern(50)))

            let (fifo, inner) = (directory.appending(path: "fifo"), directory.appending(path: "directory"))
            #expect(mkfifo(fifo.path, 0o600) == 0)
            #expect(mkdir(inner.path, 0o700) == 0)
            for (url, code) in [(fifo, FileError.Code.notRegularFile), (inner, .isDirectory)] {
                let stream = try await part.openForWriting(locked: true, using: io)
                let error = await expectPublishError(code, of: stream) {
                    try await $0.publish(as: url, existing: .replace)
                }
                #expect(error?.subject == url.path)
            }
            #expect(names(in: directory) == ["directory", "fifo", "link", "song.part", "target"])
        }
    }

    // MARK: Files that aren't regular

    @Test(arguments: [WriteOpening.replace, .append])
    func `a locked open doesn't follow a symbolic link, and the target stays`(opening: WriteOpening) async throws {
        try await withIO { io, directory in
            let target = directory.appending(path: "target")
            let part = directory.appending(path: "song.part")
            try pattern(50).write(to: target)
            #expect(symlink(target.path, part.path) == 0)
            let error = await expectFileError(.tooManyLinks) {
                try await part.withFileForWriting(existing: opening, locked: true, using: io) {
                    try await $0.write(pattern(5))
                }
            }
            #expect(error?.subject == part.path && error?.remedy?.contains("symbolic link") == true)
            let options = FileWriteOptions(temporaryName: "song.part")
            await expectFileError(.tooManyLinks) {
                try await pattern(5).asyncWrite(to: directory.appending(path: "song"), options: options, using: io)
            }
            #expect(same(contents(of: target), pattern(50)))
            #expect(names(in: directory) == ["song.part", "target"])
        }
    }

    @Test func `a locked open of a dangling link creates nothing`() async throws {
        try await withIO { io, directory in
            let part = directory.appending(path: "song.part")
            #expect(symlink(directory.appending(path: "target").path, part.path) == 0)
            await expectFileError(.tooManyLinks) {
                try await part.withFileForWriting(locked: true, using: io) { _ in }
            }
            #expect(names(in: directory) == ["song.part"])
        }
    }

    enum Irregular: CaseIterable {
        case fifo, fifoWithReader, socket, directory

        /// Creates one at the path. The descriptor keeps it in its state.
        func make(at path: String) -> CInt {
            switch self {
            case .fifo:
                #expect(mkfifo(path, 0o600) == 0)
                return -1
            case .fifoWithReader:
                #expect(mkfifo(path, 0o600) == 0)
                return open(path, O_RDONLY | O_NONBLOCK)
            case .socket: return boundSocket(at: path)
            case .directory:
                #expect(mkdir(path, 0o700) == 0)
                return -1
            }
        }
    }

    @Test(arguments: Irregular.allCases)
    func `a locked open of a file that isn't regular fails immediately and names the path`(kind: Irregular) async throws
    {
        try await withIO(concurrency: 1) { io, directory in
            let part = directory.appending(path: "song.part")
            let keeper = kind.make(at: part.path)
            defer { if keeper >= 0 { close(keeper) } }
            for opening in [WriteOpening.replace, .append] {
                let error = await expectFileError(.notRegularFile) {
                    try await part.withFileForWriting(existing: opening, locked: true, using: io) { _ in }
                }
                #expect(error?.subject == part.path && error?.remedy != nil)
            }
            let options = FileWriteOptions(temporaryName: "song.part")
            let error = await expectFileError(.notRegularFile) {
                try await pattern(5).asyncWrite(to: directory.appending(path: "song"), options: options, using: io)
            }
            #expect(error?.subject == part.path)
            #expect(names(in: directory) == ["song.part"])
        }
    }

    // MARK: File systems without locks

    @Test(arguments: [EOPNOTSUPP, ENOLCK, EINVAL, ENOSYS])
    func `if the file system has no locks, a locked open continues without one`(number: CInt) async throws {
        try await withIO(calls: .failing(.lock, with: number)) { io, directory in
            let part = directory.appending(path: "song.part")
            let song = directory.appending(path: "song")
            try pattern(100).write(to: part)
            let stream = try await part.openForWriting(locked: true, using: io)
            try await stream.write(pattern(5))
            try await stream.publish(as: song, existing: .replace)
            #expect(same(contents(of: song), pattern(5)))
            let options = FileWriteOptions(temporaryName: "song.part")
            try await pattern(7).asyncWrite(to: song, options: options, using: io)
            #expect(same(contents(of: song), pattern(7)))
            #expect(names(in: directory) == ["song"])
        }
    }
}

/// Expects that `body`, which consumes the stream, throws a `FileError` with this code.
@discardableResult
private func expectPublishError(
    _ code: FileError.Code, of stream: consuming AsyncFileStream<WriteMode>,
    sourceLocation: SourceLocation = #_sourceLocation,
    _ body: (consuming AsyncFileStream<WriteMode>) async throws -> Void
) async -> FileError? {
    do {
        try await body(stream)
        Issue.record("nothing was thrown", sourceLocation: sourceLocation)
    } catch let error as FileError {
        #expect(error.code == code, "\(error)", sourceLocation: sourceLocation)
        return error
    } catch {
        Issue.record("not a FileError: \(error)", sourceLocation: sourceLocation)
    }
    return nil
}

/// A socket of the local domain, bound to a path.
private func boundSocket(at path: String) -> CInt {
    #if canImport(Glibc)
    let descriptor = socket(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0)
    #else
    let descriptor = socket(AF_UNIX, SOCK_STREAM, 0)
    #endif
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
    let bound = withUnsafePointer(to: address) { address in
        address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
            bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
        }
    }
    #expect(bound == 0)
    return descriptor
}
