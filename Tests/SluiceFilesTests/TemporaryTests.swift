import Foundation
import SluiceFiles
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(15))) struct `Temporary files` {
    @Test func `a temporary file is private, and removed after success, failure and cancellation`() async throws {
        struct Mine: Error {}
        try await withIO { io, directory in
            let name = try await io.withTemporaryFile(prefix: "mine", suffix: ".mp3", in: directory) { file in
                #expect(mode(of: file) == 0o600)
                #expect(contents(of: file) == Data())
                return file.lastPathComponent
            }
            #expect(name.hasPrefix("mine-") && name.hasSuffix(".mp3"))
            #expect(names(in: directory) == [])
            await #expect(throws: Mine.self) { try await io.withTemporaryFile(in: directory) { _ in throw Mine() } }
            #expect(names(in: directory) == [])
            let task = Task {
                try await io.withTemporaryFile(in: directory) { _ in
                    withUnsafeCurrentTask { $0?.cancel() }
                    try Task.checkCancellation()
                }
            }
            await #expect(throws: CancellationError.self) { try await task.value }
            #expect(names(in: directory) == [])
            let before = Task {
                withUnsafeCurrentTask { $0?.cancel() }
                try await io.withTemporaryFile(in: directory) { _ in _ = Issue.record("begun") }
            }
            await #expect(throws: CancellationError.self) { try await before.value }
        }
    }

    @Test func `a file's replacement is removed, a renamed file stays, and a removed file is no error`() async throws {
        try await withIO { io, directory in
            try await io.withTemporaryFile(in: directory) { try await pattern(9).asyncWrite(to: $0, using: io) }
            try await io.withTemporaryFile(in: directory) { file in
                try await io.remove(file)
                try makeTree(["a/b"], in: file)
            }
            #expect(names(in: directory) == [])
            try await io.withTemporaryFile(in: directory) { try await io.remove($0) }
            try await io.withTemporaryFile(in: directory) {
                try await io.rename($0, to: directory.appending(path: "kept"), existing: .replace)
            }
            #expect(names(in: directory) == ["kept"])
        }
    }

    @Test(arguments: ["../outside", "a/b", "zero\0byte", "/"])
    func `a prefix that isn't part of one name is refused for directories, too`(prefix: String) async throws {
        try await withIO { io, directory in
            let inner = directory.appending(path: "inner")
            try await io.createDirectory(at: inner)
            await expectFileError(.invalidPath) {
                try await io.withTemporaryDirectory(prefix: prefix, in: inner) { Issue.record("made \($0)") }
            }
            #expect(names(in: directory) == ["inner"] && names(in: inner) == [])
        }
    }
    @Test func `an existing name is never used, and parts of a path are refused`() async throws {
        let first = Guarded(true)
        var calls = SystemCalls.system
        calls.open = { path, flags, mode in
            if flags & O_EXCL != 0,
                first.withLock({ isFirst in
                    defer { isFirst = false }; return isFirst
                })
            {
                return -EEXIST
            }
            return SystemCalls.system.open(path, flags, mode)
        }
        try await withIO(calls: calls) { io, directory in
            try await io.withTemporaryFile(in: directory) { #expect(contents(of: $0) == Data()) }
            await expectFileError(.invalidPath) { try await io.withTemporaryFile(suffix: "/x", in: directory) { _ in } }
            await expectFileError(.notFound) {
                try await io.withTemporaryFile(in: directory.appending(path: "none")) { _ in }
            }
        }
        try await withIO(calls: .failing(.open, with: EEXIST)) { io, directory in
            await expectFileError(.exists) { try await io.withTemporaryFile(in: directory) { _ in } }
        }
    }
}
