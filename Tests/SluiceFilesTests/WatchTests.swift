import Foundation
import SluiceFiles
import Synchronization
import Testing

#if os(Linux)
extension FileChanges.Iterator {
    /// Returns the next `count` changes.
    fileprivate mutating func take(_ count: Int) async throws -> [FileChange] {
        var changes: [FileChange] = []
        while changes.count < count, let change = try await next() { changes.append(change) }
        return changes
    }
}

@Suite(.enabled(if: deniedCalls == nil, "skipped: inotify is denied here"), .timeLimit(.minutes(15)))
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
            try await io.createDirectory(at: directory.appending(path: "inner"))
            try await io.remove(directory.appending(path: "new"))
            #expect(
                try await changes.take(4) == [
                    FileChange(.attributes, name: "old"),
                    FileChange(.renamed(from: "old", to: "renamed"), name: "renamed"),
                    FileChange(.created, name: "inner", isDirectory: true), FileChange(.removed, name: "new"),
                ])
        }
    }

    @Test func `names are reported byte for byte, and moves between directories with their source or destination`()
        async throws
    {
        try await withIO { io, directory in
            let (watched, other) = (directory.appending(path: "watched"), directory.appending(path: "other"))
            try await io.createDirectory(at: watched)
            try await io.createDirectory(at: other)
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

    @Test func `only the requested kinds of changes are delivered, and the end`() async throws {
        try await withIO { io, directory in
            let inner = directory.appending(path: "inner")
            try await io.createDirectory(at: inner)
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

    @Test func `removing the file ends the sequence, and a file that moved is still watched`() async throws {
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

    @Test func `a link itself is watched if links aren't followed`() async throws {
        try await withIO { io, directory in
            makeFile("file", in: directory)
            let (link, file) = (directory.appending(path: "link"), directory.appending(path: "file"))
            #expect(symlink("file", link.path) == 0)
            var followed = try await io.changes(of: link).makeAsyncIterator()
            var itself = try await io.changes(of: link, followsLinks: false).makeAsyncIterator()
            #expect(chmod(file.path, 0o600) == 0)
            #expect(try await followed.next()?.kind == .attributes)
            try await io.remove(link)
            #expect(try await itself.take(2).map(\.kind) == [.attributes, .removed])
        }
    }

    @Test func `a queue that isn't read reports an overflow`() async throws {
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
            // There is only one thread, but other operations get it.
            for _ in 0..<20 { _ = try await io.status(of: directory) }
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
            // The two descriptors of the readiness lane, and no watch.
            #expect(io.statistics.openCount <= 2)
            let before = Task {
                withUnsafeCurrentTask { $0?.cancel() }
                _ = try await io.changes(of: directory)
            }
            await #expect(throws: CancellationError.self) { try await before.value }
        }
    }

    @Test func `a sequence that is left or dropped is closed, and a shutdown ends a waiting one`() async throws {
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
                    try await io.createDirectory(at: inner)
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

    @Test func `a missing directory and a directory that can't be watched have different remedies`() async throws {
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
    func `a failed read ends the sequence`(number: CInt) async throws {
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

// MARK: - The state machine

/// An event as inotify(7) lays it out.
struct RawChange {
    var mask: UInt32
    var cookie: UInt32 = 0
    var name: DirectoryEntry.Name?
    /// Zeros after the name.
    var padding = 16

    var bytes: [UInt8] {
        let name = self.name.map { $0.bytes + Array(repeating: 0, count: padding) } ?? []
        return [1, mask, cookie, UInt32(name.count)].flatMap { value in withUnsafeBytes(of: value) { Array($0) } }
            + name
    }
}

private let (modified, attributes, closed): (UInt32, UInt32, UInt32) = (0x2, 0x4, 0x8)
private let (movedFrom, movedTo, created, removed): (UInt32, UInt32, UInt32, UInt32) = (0x40, 0x80, 0x100, 0x200)
private let (removedItself, movedItself, unmounted): (UInt32, UInt32, UInt32) = (0x400, 0x800, 0x2000)
private let (overflow, ignored, directory): (UInt32, UInt32, UInt32) = (0x4000, 0x8000, 0x4000_0000)

extension FileChangeMachine {
    fileprivate mutating func receive(_ events: RawChange...) { receive(events.flatMap(\.bytes)) }
    fileprivate mutating func receive(_ bytes: [UInt8]) { bytes.withUnsafeBytes { receive($0) } }

    /// All changes that it returns now.
    fileprivate mutating func all() -> [FileChange] {
        var changes: [FileChange] = []
        while let change = next() { changes.append(change) }
        return changes
    }
}

struct `What inotify writes` {
    @Test func `each event becomes a change, in order, with its name and without the padding`() {
        var machine = FileChangeMachine()
        machine.receive(
            RawChange(mask: created, name: "a", padding: 1), RawChange(mask: created | directory, name: "directory"),
            RawChange(mask: modified, name: "a"), RawChange(mask: attributes, name: "new\nline", padding: 0),
            RawChange(mask: closed, name: DirectoryEntry.Name(bytes: [0xFF])), RawChange(mask: removed, name: "a"),
            RawChange(mask: attributes | directory), RawChange(mask: movedItself))
        #expect(
            machine.all() == [
                FileChange(.created, name: "a"), FileChange(.created, name: "directory", isDirectory: true),
                FileChange(.modified, name: "a"), FileChange(.attributes, name: "new\nline"),
                FileChange(.closedAfterWriting, name: DirectoryEntry.Name(bytes: [0xFF])),
                FileChange(.removed, name: "a"),
                FileChange(.attributes, isDirectory: true), FileChange(.renamed(from: nil, to: nil)),
            ])
        #expect(!machine.isEnded && !machine.isReady)
    }

    @Test func `combined bits become separate changes, and unknown bits are ignored`() {
        var machine = FileChangeMachine()
        machine.receive(RawChange(mask: modified | attributes, name: "a"), RawChange(mask: 0x10, name: "a"))
        #expect(machine.all() == [FileChange(.modified, name: "a"), FileChange(.attributes, name: "a")])
    }

    @Test func `both halves of a rename become one change, in the place of the first`() {
        var machine = FileChangeMachine()
        machine.receive(
            RawChange(mask: movedFrom, cookie: 7, name: "a"), RawChange(mask: created, name: "a"),
            RawChange(mask: movedFrom, cookie: 8, name: "x"), RawChange(mask: movedTo, cookie: 7, name: "b"),
            RawChange(mask: movedTo, cookie: 8, name: "y"))
        #expect(
            machine.all() == [
                FileChange(.renamed(from: "a", to: "b"), name: "b"), FileChange(.created, name: "a"),
                FileChange(.renamed(from: "x", to: "y"), name: "y"),
            ])
    }

    @Test func `half a rename delays later events until the other half arrives or there is nothing more to read`() {
        var machine = FileChangeMachine()
        machine.receive(RawChange(mask: modified, name: "m"), RawChange(mask: movedFrom, cookie: 7, name: "a"))
        machine.receive(RawChange(mask: removed, name: "z"))
        #expect(machine.all() == [FileChange(.modified, name: "m")])
        var other = machine
        machine.receive(RawChange(mask: movedTo, cookie: 7, name: "b"))
        #expect(
            machine.all() == [FileChange(.renamed(from: "a", to: "b"), name: "b"), FileChange(.removed, name: "z")])
        other.settle()
        #expect(
            other.all() == [FileChange(.renamed(from: "a", to: nil), name: "a"), FileChange(.removed, name: "z")])
        // Too late: two changes.
        other.receive(RawChange(mask: movedTo, cookie: 7, name: "b"))
        #expect(other.all() == [FileChange(.renamed(from: nil, to: "b"), name: "b")])
    }

    @Test func `a move from elsewhere isn't delayed, and halves with different cookies aren't joined`() {
        var machine = FileChangeMachine()
        machine.receive(
            RawChange(mask: movedTo, cookie: 5, name: "in"), RawChange(mask: movedFrom, cookie: 7, name: "a"),
            RawChange(mask: movedTo, cookie: 6, name: "b"))
        #expect(machine.all() == [FileChange(.renamed(from: nil, to: "in"), name: "in")])
        machine.settle()
        #expect(
            machine.all() == [
                FileChange(.renamed(from: "a", to: nil), name: "a"),
                FileChange(.renamed(from: nil, to: "b"), name: "b"),
            ])
    }

    @Test func `several overflows in a row are reported once, and nothing waits for lost events`() {
        var machine = FileChangeMachine()
        machine.receive(
            RawChange(mask: movedFrom, cookie: 7, name: "a"), RawChange(mask: overflow), RawChange(mask: overflow))
        machine.receive(RawChange(mask: overflow), RawChange(mask: modified, name: "m"), RawChange(mask: overflow))
        #expect(
            machine.all() == [
                FileChange(.renamed(from: "a", to: nil), name: "a"), FileChange(.overflow),
                FileChange(.modified, name: "m"), FileChange(.overflow),
            ])
    }

    @Test func `at the end of the watch, delayed changes are delivered`() {
        var machine = FileChangeMachine()
        machine.receive(
            RawChange(mask: movedFrom, cookie: 7, name: "a"), RawChange(mask: removedItself),
            RawChange(mask: ignored), RawChange(mask: modified, name: "another file's"))
        #expect(machine.isEnded)
        #expect(machine.all() == [FileChange(.renamed(from: "a", to: nil), name: "a"), FileChange(.removed)])
        var gone = FileChangeMachine()
        gone.receive(RawChange(mask: unmounted), RawChange(mask: ignored))
        #expect(gone.all() == [FileChange(.unmounted)] && gone.isEnded)
    }

    @Test func `truncated events count as lost changes and are never read past the end`() {
        let first = RawChange(mask: created, name: "first").bytes
        let second = RawChange(mask: removed, name: "second").bytes
        for count in 0...second.count {
            var machine = FileChangeMachine()
            machine.receive(first + second.prefix(count))
            let last: [FileChange] =
                switch count {
                case 0: []
                case second.count: [FileChange(.removed, name: "second")]
                default: [FileChange(.overflow)]
                }
            #expect(machine.all() == [FileChange(.created, name: "first")] + last)
        }
        var machine = FileChangeMachine()
        machine.receive(
            [1, created, 0, UInt32.max].flatMap { value in withUnsafeBytes(of: value) { Array($0) } } + [65])
        #expect(machine.all() == [FileChange(.overflow)])
    }

    @Test func `events at odd addresses are read`() {
        var machine = FileChangeMachine()
        let bytes =
            [0] + RawChange(mask: created, name: "a", padding: 2).bytes
            + RawChange(mask: removed, name: "a").bytes
        bytes.withUnsafeBytes { machine.receive(UnsafeRawBufferPointer(rebasing: $0.dropFirst())) }
        #expect(machine.all() == [FileChange(.created, name: "a"), FileChange(.removed, name: "a")])
    }
}
