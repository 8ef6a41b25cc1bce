import Foundation
import SluiceFiles
import Synchronization
import TestSupport
import Testing

/// Names that programs often handle incorrectly.
let hostileNames: [DirectoryEntry.Name] = [
    "new\nline", "-rf", " ", "*", "~", "\\", "…", "a\u{301}", "\u{E9}", "e\u{301}",
    DirectoryEntry.Name(bytes: [0x6B, 0xFF, 0xFE]), DirectoryEntry.Name(bytes: [0x80]),
    DirectoryEntry.Name(bytes: Array(repeating: 0x78, count: 255)),
    DirectoryEntry.Name(bytes: Array(repeating: 0xC3, count: 255)),
]

/// The C path of a name in a directory, whatever its bytes.
func withPath<R>(_ directory: URL, _ name: DirectoryEntry.Name, _ body: (UnsafePointer<CChar>) throws -> R) rethrows
    -> R
{
    try (Array(directory.path.utf8) + [0x2F] + name.bytes + [0]).withUnsafeBytes {
        try body($0.bindMemory(to: CChar.self).baseAddress!)
    }
}

func makeFile(_ name: DirectoryEntry.Name, in directory: URL, _ text: String = "") {
    let file = withPath(directory, name) { fopen($0, "w")! }
    fputs(text, file)
    fclose(file)
}

@Suite(.timeLimit(.minutes(15))) struct `Listing directories` {
    @Test func `a listing has each name with its kind, and nothing else`() async throws {
        try await withIO { io, directory in
            makeFile("file", in: directory)
            try await io.createDirectory(at: directory.appending(path: "inner"))
            #expect(symlink("nowhere", directory.appending(path: "link").path) == 0)
            #expect(mkfifo(directory.appending(path: "fifo").path, 0o600) == 0)
            let kinds = try await io.entries(of: directory).reduce(into: [:]) { $0[$1.name] = $1.kind }
            #expect(kinds == ["file": .file, "inner": .directory, "link": .symbolicLink, "fifo": .fifo])
            #expect(try await io.entries(of: directory.appending(path: "inner")).isEmpty)
            await expectFileError(.notDirectory) { try await io.entries(of: directory.appending(path: "file")) }
            let error = await expectFileError(.notFound) { try await io.entries(of: directory.appending(path: "none")) }
            #expect(error?.operation == "list" && error?.subject == directory.appending(path: "none").path)
        }
    }

    @Test func `any name can be listed, inspected, read, written, renamed and removed`() async throws {
        try await withIO { io, directory in
            for name in hostileNames { makeFile(name, in: directory, "\(name.bytes.count)") }
            let entries = try await io.entries(of: directory)
            #expect(Set(entries.map(\.rawName)) == Set(hostileNames))
            for entry in entries {
                let count = entry.rawName.bytes.count
                #expect(try await entry.status()?.size == Int64("\(count)".count))
                let stream = try await entry.openForReading()
                #expect(String(decoding: try await stream.readToEnd(), as: UTF8.self) == "\(count)")
                try await stream.close()
                let output = try await entry.openForWriting(existing: .append)
                try await output.write(Data("+".utf8))
                try await output.close()
                let name = DirectoryEntry.Name(bytes: entry.rawName.bytes.prefix(240) + Array("\nrenamed".utf8))
                let renamed = try await entry.rename(to: name)
                #expect(try await entry.status() == nil)
                #expect(try await renamed.status()?.size == Int64("\(count)".count) + 1)
                try await renamed.remove()
            }
            #expect(names(in: directory) == [])
        }
    }

    @Test func `only a name in UTF-8 has a URL`() async throws {
        try await withIO { io, directory in
            makeFile("ü", in: directory)
            makeFile(DirectoryEntry.Name(bytes: [0xFF]), in: directory)
            let entries = try await io.entries(of: directory)
            #expect(entries.compactMap(\.url).map { contents(of: $0) } == [Data()])
            #expect(entries.first { $0.url == nil }?.name == "\u{FFFD}")
        }
    }

    @Test func `entries refer to the directory that was listed, even after it was moved`() async throws {
        try await withIO { io, directory in
            let (old, new) = (directory.appending(path: "old"), directory.appending(path: "new"))
            try await io.createDirectory(at: old)
            makeFile("file", in: old, "mine")
            let entry = try #require(try await io.entries(of: old).first)
            try await io.rename(old, to: new, existing: .replace)
            try await io.createDirectory(at: old)
            makeFile("file", in: old, "another")
            #expect(try await entry.status()?.size == 4)
            try await entry.remove()
            #expect(names(in: new) == [] && names(in: old) == ["file"])
        }
    }

    @Test func `a link that replaced a file is neither read nor written through`() async throws {
        try await withIO { io, directory in
            makeFile("file", in: directory, "x")
            let entry = try #require(try await io.entries(of: directory).first)
            let outside = DirectoryEntry.Name("outside")
            makeFile(outside, in: directory, "secret")
            #expect(unlink(directory.appending(path: "file").path) == 0)
            #expect(symlink("outside", directory.appending(path: "file").path) == 0)
            await expectFileError(.tooManyLinks) { _ = try await entry.openForReading() }
            await expectFileError(.tooManyLinks) { _ = try await entry.openForWriting() }
            await expectFileError(.notDirectory) { try await entry.entries() }
            let stream = try await entry.openForReading(followsLinks: true)
            #expect(try await stream.readToEnd() == Data("secret".utf8))
            try await stream.close()
            #expect(try await entry.status()?.kind == .symbolicLink)
            #expect(try await entry.status(followsLinks: true)?.kind == .file)
            try await entry.remove()
            #expect(names(in: directory) == ["outside"])
        }
    }

    @Test func `a FIFO among the entries is refused without waiting, even if it appeared after the listing`()
        async throws
    {
        try await withIO(concurrency: 1) { io, directory in
            makeFile("file", in: directory)
            #expect(mkfifo(directory.appending(path: "fifo").path, 0o600) == 0)
            let entries = try await io.entries(of: directory)
            #expect(unlink(directory.appending(path: "file").path) == 0)
            #expect(mkfifo(directory.appending(path: "file").path, 0o600) == 0)
            for entry in entries {
                await expectFileError(.notRegularFile) { _ = try await entry.openForReading() }
                await expectFileError(.notRegularFile) { _ = try await entry.openForWriting() }
            }
        }
    }

    @Test func `a directory isn't opened as a file, and isn't removed while it has entries`() async throws {
        try await withIO { io, directory in
            let inner = directory.appending(path: "inner")
            try await io.createDirectory(at: inner)
            makeFile("file", in: inner)
            let entry = try #require(try await io.entries(of: directory).first)
            await expectFileError(.isDirectory) { _ = try await entry.openForReading() }
            await expectFileError(.isDirectory) { _ = try await entry.openForWriting() }
            await expectFileError(.notEmpty) { try await entry.remove() }
            let below = try #require(try await entry.entries().first)
            #expect(below.url?.path == inner.appending(path: "file").path)
            try await below.remove()
            try await entry.remove()
            #expect(names(in: directory) == [])
        }
    }

    @Test func `renaming an entry refuses invalid names, and replaces only on request`() async throws {
        try await withIO { io, directory in
            makeFile("a", in: directory, "a")
            makeFile("b", in: directory, "b")
            let a = try #require(try await io.entries(of: directory).first { $0.name == "a" })
            for name: DirectoryEntry.Name in ["", ".", "..", "x/y", "/", DirectoryEntry.Name(bytes: [0x61, 0])] {
                await expectFileError(.invalidPath) { try await a.rename(to: name) }
            }
            await expectFileError(.nameTooLong) {
                try await a.rename(to: DirectoryEntry.Name(String(repeating: "x", count: 256)))
            }
            await expectFileError(.exists) { try await a.rename(to: "b") }
            try await a.rename(to: "b", existing: .replace)
            #expect(names(in: directory) == ["b"])
            #expect(contents(of: directory.appending(path: "b")) == Data("a".utf8))
            await expectFileError(.notFound) { try await a.rename(to: "c") }
        }
    }

    @Test(arguments: [EINVAL, ENOSYS])
    func `without renameat2, renaming an entry with link and unlink keeps an existing file`(number: CInt) async throws {
        try await withIO(calls: .failing(.renameAtWithoutReplacing, with: number)) { io, directory in
            makeFile("a", in: directory, "a")
            makeFile("b", in: directory, "b")
            let a = try #require(try await io.entries(of: directory).first { $0.name == "a" })
            await expectFileError(.exists) { try await a.rename(to: "b") }
            #expect(names(in: directory) == ["a", "b"])
            try await a.rename(to: "c")
            #expect(names(in: directory) == ["b", "c"])
            try await io.createDirectory(at: directory.appending(path: "inner"))
            let inner = try #require(try await io.entries(of: directory).first { $0.name == "inner" })
            makeFile("x", in: directory.appending(path: "inner"))
            await expectFileError(.exists) { try await inner.rename(to: "b") }
            try await inner.rename(to: "outer")
            #expect(names(in: directory) == ["b", "c", "outer"])
            #expect(names(in: directory.appending(path: "outer")) == ["x"])
        }
    }

    @Test func `entries with the same name in the same directory are equal`() async throws {
        try await withIO { io, directory in
            makeFile("a", in: directory)
            try await io.createDirectory(at: directory.appending(path: "inner"))
            makeFile("a", in: directory.appending(path: "inner"))
            let entries = try await io.entries(of: directory) + io.entries(of: directory)
            #expect(Set(entries).count == 2)
            #expect(
                try await io.entries(of: directory.appending(path: "inner")).first != entries.first { $0.name == "a" })
        }
    }

    @Test func `a directory that is removed while open is empty`() async throws {
        let path = Guarded<String?>(nil)
        var calls = SystemCalls.system
        calls.directories.readEntries = { directory, entries in
            if let path = path.withLock({ $0.take() }) { _ = rmdir(path) }
            return SystemCalls.system.directories.readEntries(directory, &entries)
        }
        try await withIO(calls: calls) { io, directory in
            let inner = directory.appending(path: "inner")
            try await io.createDirectory(at: inner)
            path.withLock { $0 = inner.path }
            #expect(try await io.entries(of: inner).isEmpty)
        }
    }

    // MARK: Large directories

    @Test func `fifty thousand entries are each listed once, even if removed while listing`() async throws {
        try await withIO(in: memoryDirectory) { io, directory in
            for index in 0..<50_000 { makeFile(DirectoryEntry.Name("\(index)"), in: directory) }
            var seen = Set<DirectoryEntry.Name>()
            for try await entry in io.listing(of: directory) {
                #expect(seen.insert(entry.rawName).inserted)
                if seen.count % 2 == 0 { try await entry.remove() }
            }
            #expect(seen.count == 50_000)
            #expect(try await io.entries(of: directory).count == 25_000)
            await expectFileError(.limitExceeded) { try await io.entries(of: directory, maximumCount: 24_999) }
            #expect(try await io.entries(of: directory, maximumCount: 25_000).count == 25_000)
        }
    }

    @Test func `a listing of a million entries reads little more than is requested`() async throws {
        let calls = Atomic(0)
        var mocked = SystemCalls.system
        mocked.directories.readEntries = { _, entries in
            let count = calls.add(1, ordering: .relaxed).newValue
            if count > 10_000 { return 0 }
            for index in 0..<100 {
                entries.append(RawDirectoryEntry(name: DirectoryEntry.Name("\(count)-\(index)"), mode: 0))
            }
            return 100
        }
        try await withIO(calls: mocked) { io, directory in
            var count = 0
            for try await _ in io.listing(of: directory) {
                count += 1
                let read = calls.load(ordering: .relaxed)
                #expect(read * 100 - count < 1000)
                if count == 100_000 { break }
            }
            #expect(io.statistics.finishedCount <= 500)
        }
    }

    @Test func `leaving, cancelling or dropping a listing leaves nothing open`() async throws {
        try await withIO { io, directory in
            for index in 0..<2000 { makeFile(DirectoryEntry.Name("\(index)"), in: directory) }
            for try await _ in io.listing(of: directory) { break }
            _ = io.listing(of: directory).makeAsyncIterator()
            let task = Task {
                var count = 0
                for try await _ in io.listing(of: directory) {
                    count += 1
                    if count == 10 { withUnsafeCurrentTask { $0?.cancel() } }
                }
            }
            await #expect(throws: CancellationError.self) { try await task.value }
            let whole = Task {
                withUnsafeCurrentTask { $0?.cancel() }
                return try await io.entries(of: directory)
            }
            await #expect(throws: CancellationError.self) { try await whole.value }
        }
    }

    @Test(arguments: Call.readEntries.documentedErrors.filter { $0 != EINTR })
    func `a directory that can't be read is an error`(number: CInt) async throws {
        try await withIO(calls: .failing(.readEntries, with: number)) { io, directory in
            makeFile("a", in: directory)
            if number == ENOENT { return #expect(try await io.entries(of: directory).isEmpty) }
            for list in [
                { _ = try await io.entries(of: directory) }, { for try await _ in io.listing(of: directory) {} },
            ] {
                do {
                    try await list()
                    Issue.record("no error")
                } catch let error as FileError {
                    #expect(error.systemError == number && error.subject == directory.path && error.operation == "list")
                }
            }
        }
    }
}
