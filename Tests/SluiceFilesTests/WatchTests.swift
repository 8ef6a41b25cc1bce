#if os(Linux)
import Foundation
import SluiceFiles
import Synchronization
import Testing

extension FileChanges.Iterator {
    /// The next changes, as many as are said.
    fileprivate mutating func take(_ count: Int) async throws -> [FileChange] {
        var changes: [FileChange] = []
        while changes.count < count, let change = try await next() { changes.append(change) }
        return changes
    }
}

@Suite(.enabled(if: deniedCalls == nil, "skipped: inotify is denied here"), .timeLimit(.minutes(2)))
struct `Watching for changes` {
    @Test func `the changes of a directory come in order`() async throws {
        try await withIO { io, directory in
            makeFile("old", in: directory, "old")
            var changes = try await io.changes(of: directory).makeAsyncIterator()
            makeFile("new", in: directory, "x")
            #expect(
                try await changes.take(3) == [
                    FileChange(.created, name: "new"), FileChange(.modified, name: "new"),
                    FileChange(.closedAfterWriting, name: "new"),
                ])
            #expect(chmod(directory.appending(path: "old").path, 0o600) == 0)
            try await io.rename(
                directory.appending(path: "old"), to: directory.appending(path: "renamed"), existing: .replace)
            try await io.makeDirectory(at: directory.appending(path: "inner"))
            try await io.remove(directory.appending(path: "new"))
            #expect(
                try await changes.take(4) == [
                    FileChange(.attributes, name: "old"),
                    FileChange(.renamed(from: "old", to: "renamed"), name: "renamed"),
                    FileChange(.created, name: "inner", isDirectory: true), FileChange(.removed, name: "new"),
                ])
        }
    }

    @Test func `names come byte for byte, and moves between directories say where from or where to`() async throws {
        try await withIO { io, directory in
            let (watched, other) = (directory.appending(path: "watched"), directory.appending(path: "other"))
            try await io.makeDirectory(at: watched)
            try await io.makeDirectory(at: other)
            var changes = try await io.changes(of: watched, kinds: [.created, .renamed]).makeAsyncIterator()
            for name in hostileNames {
                makeFile(name, in: watched)
                #expect(try await changes.next() == FileChange(.created, name: name))
            }
            makeFile("in", in: other)
            try await io.rename(other.appending(path: "in"), to: watched.appending(path: "in"), existing: .replace)
            #expect(try await changes.next() == FileChange(.renamed(from: nil, to: "in"), name: "in"))
            try await io.rename(watched.appending(path: "in"), to: other.appending(path: "out"), existing: .replace)
            #expect(try await changes.next() == FileChange(.renamed(from: "in", to: nil), name: "in"))
        }
    }

    @Test func `only the kinds that were asked for come, and the end`() async throws {
        try await withIO { io, directory in
            let inner = directory.appending(path: "inner")
            try await io.makeDirectory(at: inner)
            let changes = try await io.changes(of: inner, kinds: [.closedAfterWriting])
            makeFile("a", in: inner, "x")
            try await io.removeTree(inner)
            var all: [FileChange] = []
            for try await change in changes { all.append(change) }
            #expect(all == [FileChange(.closedAfterWriting, name: "a"), FileChange(.removed)])
            var again = changes.makeAsyncIterator()
            #expect(try await again.next() == nil)
        }
    }

    @Test func `a file that is removed ends the sequence, one that is moved is still watched`() async throws {
        try await withIO { io, directory in
            makeFile("a", in: directory)
            let (a, b) = (directory.appending(path: "a"), directory.appending(path: "b"))
            var changes = try await io.changes(of: a).makeAsyncIterator()
            try await io.rename(a, to: b, existing: .replace)
            #expect(try await changes.next() == FileChange(.renamed(from: nil, to: nil)))
            let descriptor = open(b.path, O_WRONLY)
            #expect(write(descriptor, "x", 1) == 1)
            close(descriptor)
            #expect(try await changes.take(2).map(\.kind) == [.modified, .closedAfterWriting])
            try await io.remove(b)
            #expect(try await changes.take(9).map(\.kind) == [.attributes, .removed])
            #expect(try await changes.next() == nil)
        }
    }

    @Test func `a link is watched itself when it is not to be followed`() async throws {
        try await withIO { io, directory in
            makeFile("file", in: directory)
            let (link, file) = (directory.appending(path: "link"), directory.appending(path: "file"))
            #expect(symlink("file", link.path) == 0)
            var followed = try await io.changes(of: link).makeAsyncIterator()
            var itself = try await io.changes(of: link, followingLinks: false).makeAsyncIterator()
            #expect(chmod(file.path, 0o600) == 0)
            #expect(try await followed.next()?.kind == .attributes)
            try await io.remove(link)
            #expect(try await itself.take(2).map(\.kind) == [.attributes, .removed])
        }
    }

    @Test func `a queue that is not emptied overflows, and says so`() async throws {
        let most =
            Int(
                (try? String(contentsOfFile: "/proc/sys/fs/inotify/max_queued_events", encoding: .utf8))?
                    .trimmingCharacters(in: .newlines) ?? "") ?? 16_384
        try await withIO(in: memoryDirectory) { io, directory in
            let changes = try await io.changes(of: directory, kinds: [.created, .removed])
            let path = directory.appending(path: "x").path
            for _ in 0...(most / 2) {
                close(open(path, O_CREAT, 0o600))
                unlink(path)
            }
            var count = 0
            for try await change in changes {
                count += 1
                if change.kind == .overflow { break }
            }
            #expect(count > most / 2 && count <= most + 1)
        }
    }

    @Test func `a waiting task holds no thread of the pool, and cancellation ends the wait and the watch`() async throws
    {
        try await withIO(concurrency: 1) { io, directory in
            let begun = AsyncStream.makeStream(of: Void.self)
            let task = Task {
                let changes = try await io.changes(of: directory)
                begun.continuation.yield()
                for try await _ in changes {}
            }
            for await _ in begun.stream { break }
            // With one thread: another operation gets it all the same.
            for _ in 0..<20 { _ = try await io.status(of: directory) }
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
            // The two that the readiness lane keeps, and no watch.
            #expect(io.statistics.openCount <= 2)
            let before = Task {
                withUnsafeCurrentTask { $0?.cancel() }
                _ = try await io.changes(of: directory)
            }
            await #expect(throws: CancellationError.self) { try await before.value }
        }
    }

    @Test func `a sequence that is left or dropped is closed, and shutting down ends one that waits`() async throws {
        try await withIO { io, directory in
            let left = try await io.changes(of: directory)
            makeFile("a", in: directory)
            for try await _ in left { break }
            _ = try await io.changes(of: directory)
            let watched = try await io.changes(of: directory)
            let waiting = Task { for try await _ in watched {} }
            await io.shutdown()
            await expectFileError(.shutDown) { try await waiting.value }
        }
    }

    @Test func `many watches wait on one thread`() async throws {
        try await withIO(concurrency: 2, in: memoryDirectory) { io, directory in
            try await withThrowingTaskGroup(of: FileChange?.self) { group in
                for index in 0..<40 {
                    let inner = directory.appending(path: "\(index)")
                    try await io.makeDirectory(at: inner)
                    let changes = try await io.changes(of: inner)
                    group.addTask {
                        var iterator = changes.makeAsyncIterator()
                        return try await iterator.next()
                    }
                }
                for index in 0..<40 {
                    makeFile(DirectoryEntry.Name("\(index)"), in: directory.appending(path: "\(index)"))
                }
                var names: Set<DirectoryEntry.Name> = []
                for try await change in group { if let name = change?.name { names.insert(name) } }
                #expect(names.count == 40)
            }
            #expect(io.statistics.threadCount <= 3)
        }
    }

    // MARK: Failures

    @Test func `a missing directory, and one that cannot be watched, are errors with different remedies`() async throws
    {
        try await withIO { io, directory in
            let none = directory.appending(path: "none")
            let error = await expectFileError(.notFound) { try await io.changes(of: none) }
            #expect(error?.subject == none.path && error?.operation == "watch")
        }
        for (call, number, code, word): (Call, CInt, FileError.Code, String) in [
            (.watchMakeQueue, EMFILE, .tooManyOpenFiles, "max_user_instances"),
            (.watchMakeQueue, ENOSYS, .unsupported, "Linux"), (.watchAdd, ENOSPC, .exhausted, "max_user_watches"),
            (.watchAdd, EACCES, .permissionDenied, "mode"),
        ] {
            try await withIO(calls: .failing(call, with: number)) { io, directory in
                let error = await expectFileError(code) { try await io.changes(of: directory) }
                #expect(error?.systemError == number && error?.subject == directory.path)
                #expect(error?.remedy?.contains(word) == true, "\(error?.remedy ?? "none")")
            }
        }
    }

    @Test(arguments: [EIO, EINVAL, EBADF])
    func `a read that fails ends the sequence`(number: CInt) async throws {
        try await withIO(calls: .failing(.read, with: number)) { io, directory in
            var changes = try await io.changes(of: directory).makeAsyncIterator()
            do {
                _ = try await changes.next()
                Issue.record("no error")
            } catch let error as FileError { #expect(error.systemError == number && error.subject == directory.path) }
            #expect(try await changes.next() == nil)
        }
    }
}
#endif
