import Foundation
import SluiceFiles
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct `Existing files` {
    @Test func `a rename, a copy and a publish replace nothing by default`() async throws {
        try await withIO { io, directory in
            let (a, b) = (directory.appending(path: "a"), directory.appending(path: "b"))
            try pattern(10).write(to: a)
            try pattern(20).write(to: b)
            await expectFileError(.exists) { try await io.rename(a, to: b) }
            await expectFileError(.exists) { try await io.copy(a, to: b) }
            await expectFileError(.exists) {
                let stream = try await a.openForWriting(existing: .append, using: io)
                try await stream.publish(as: b)
            }
            #expect(same(contents(of: a), pattern(10)) && same(contents(of: b), pattern(20)))
            try await io.copy(a, to: b, options: .init(existing: .replace))
            #expect(same(contents(of: b), pattern(10)))
        }
    }

    @Test func `a write of a whole file and an open that truncates replace`() async throws {
        try await withIO { io, directory in
            let url = directory.appending(path: "file")
            try pattern(30).write(to: url)
            try await pattern(20).asyncWrite(to: url, using: io)
            #expect(same(contents(of: url), pattern(20)))
            try await url.withFileForWriting(using: io) { try await $0.write(pattern(10)) }
            #expect(same(contents(of: url), pattern(10)))
        }
    }

    @Test func `a copy that skips leaves an existing file and reports it`() async throws {
        try await withIO { io, directory in
            let (a, b) = (directory.appending(path: "a"), directory.appending(path: "b"))
            try pattern(10).write(to: a)
            let reports = Guarded<[FileProgress]>([])
            let options = FileCopyOptions(existing: .skip)
            #expect(try await io.copy(a, to: b, options: options).method != .skipped)
            #expect(same(contents(of: b), pattern(10)))
            try pattern(20).write(to: b)
            let result = try await io.copy(a, to: b, options: options) { progress in
                reports.withLock { $0.append(progress) }
            }
            #expect(result == FileCopyResult(bytes: 0, method: .skipped))
            #expect(reports.withLock { $0 } == [FileProgress(isFinished: true)])
            #expect(same(contents(of: b), pattern(20)) && names(in: directory) == ["a", "b"])
        }
    }

    @Test func `what cannot skip fails, and both files stay`() async throws {
        try await withIO { io, directory in
            let (a, b) = (directory.appending(path: "a"), directory.appending(path: "b"))
            try pattern(10).write(to: a)
            try pattern(20).write(to: b)
            await expectFileError(.exists) { try await io.rename(a, to: b, existing: .skip) }
            await expectFileError(.exists) {
                try await pattern(5).asyncWrite(to: b, options: .init(existing: .skip), using: io)
            }
            await expectFileError(.exists) {
                let stream = try await a.openForWriting(existing: .append, using: io)
                try await stream.publish(as: b, existing: .skip)
            }
            let entries = try await io.entries(of: directory)
            let entry = try #require(entries.first { $0.name == "a" })
            await expectFileError(.exists) { _ = try await entry.rename(to: "b", existing: .skip) }
            #expect(same(contents(of: a), pattern(10)) && same(contents(of: b), pattern(20)))
            #expect(names(in: directory) == ["a", "b"])
        }
    }

    @Test func `a copy that skips loses a race without an error`() async throws {
        let made = Guarded<URL?>(nil)
        var calls = SystemCalls.system
        calls.renameWithoutReplacing = { from, to in
            if let url = made.withLock({ $0.take() }) { try? pattern(20).write(to: url) }
            return SystemCalls.system.renameWithoutReplacing(from, to)
        }
        try await withIO(calls: calls) { io, directory in
            let (a, b) = (directory.appending(path: "a"), directory.appending(path: "b"))
            try pattern(10).write(to: a)
            made.withLock { $0 = b }
            #expect(try await io.copy(a, to: b, options: .init(existing: .skip)).method == .skipped)
            #expect(same(contents(of: b), pattern(20)) && names(in: directory) == ["a", "b"])
        }
    }

    @Test func `an entry opened for writing is cut off, appended to or refused`() async throws {
        try await withIO { io, directory in
            let url = directory.appending(path: "file")
            try pattern(30).write(to: url)
            let entry = try #require(try await io.entries(of: directory).first)
            await expectFileError(.exists) { try await entry.openForWriting(existing: .fail).close() }
            #expect(same(contents(of: url), pattern(30)))
            let end = try await entry.openForWriting(existing: .append)
            try await end.write(Data([1]))
            try await end.close()
            #expect(same(contents(of: url), pattern(30) + [1]))
            try await entry.openForWriting().close()
            #expect(contents(of: url).isEmpty)
            try await entry.remove()
            await expectFileError(.notFound) { try await entry.openForWriting(existing: .fail).close() }
        }
    }
}
