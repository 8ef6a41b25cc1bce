import Foundation
import SluiceFiles
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(1))) struct `Locks and publishing` {
    @Test func `a second opener is told that the file is locked, and the first one's bytes stay`() async throws {
        try await withIO { io, folder in
            let part = folder.appending(path: "song.part")
            let first = try await part.openForWriting(lock: .exclusive, using: io)
            try await first.write(pattern(100))
            let error = await expectFileError(.locked) {
                try await part.withFileForWriting(lock: .exclusive, using: io) { _ in }
            }
            #expect(error?.path == part.path && error?.remedy != nil)
            #expect(same(contents(of: part), pattern(100)))
            try await first.close()
            try await part.withFileForWriting(lock: .exclusive, using: io) { try await $0.write(pattern(3)) }
            #expect(same(contents(of: part), pattern(3)), "what was left is taken over and cut off")
            try await part.withFileForWriting(.append, lock: .exclusive, using: io) { try await $0.write(pattern(2)) }
            #expect(same(contents(of: part), pattern(3) + pattern(2)), "appending keeps what is there")
        }
    }

    @Test func `a file renamed away between opening and locking is not written into`() async throws {
        let paths = Mutex<(from: String, to: String)?>(nil)
        let log = CallLog()
        var calls = SystemCalls.recorded(in: log)
        calls.lock = { descriptor, operation in
            log.add("lock")
            // The other process publishes its file just now.
            if let names = paths.withLock({ $0.take() }) { _ = SystemCalls.system.rename(names.from, names.to) }
            return SystemCalls.system.lock(descriptor, operation)
        }
        try await withIO(calls: calls) { io, folder in
            let part = folder.appending(path: "song.part")
            let song = folder.appending(path: "song")
            try pattern(100).write(to: part)
            paths.withLock { $0 = (part.path, song.path) }
            try await part.withFileForWriting(lock: .exclusive, using: io) { try await $0.write(pattern(5)) }
            #expect(same(contents(of: song), pattern(100)), "the finished file is whole")
            #expect(same(contents(of: part), pattern(5)))
            #expect(log.all == ["create", "lock", "close", "create", "lock", "write", "close"])
        }
    }

    @Test func `a part that is also the finished file is not cut off`() async throws {
        try await withIO { io, folder in
            // What a crash between link and unlink leaves.
            let part = folder.appending(path: "song.part")
            let song = folder.appending(path: "song")
            try pattern(100).write(to: song)
            #expect(link(song.path, part.path) == 0)
            try await part.withFileForWriting(lock: .exclusive, using: io) { try await $0.write(pattern(5)) }
            #expect(same(contents(of: song), pattern(100)))
            #expect(same(contents(of: part), pattern(5)))
        }
    }

    @Test func `a file that is always renamed away is given up`() async throws {
        var calls = SystemCalls.system
        calls.status = { _, _, status in
            status = RawStatus()
            return 0
        }
        try await withIO(calls: calls) { io, folder in
            await expectFileError(.locked) {
                try await folder.appending(path: "part").withFileForWriting(lock: .exclusive, using: io) { _ in }
            }
        }
    }

    @Test(arguments: [
        (Durability.none, ["rename", "close"]),
        (.data, ["fdatasync", "rename", "close"]),
        (.full, ["fsync", "rename", "close"]),
        (.fullAndDirectory, ["fsync", "rename", "open folder", "fsync folder", "close", "close"]),
    ])
    func `publishing is one job in the order of its level`(durability: Durability, order: [String]) async throws {
        let log = CallLog()
        try await withIO(calls: .recorded(in: log)) { io, folder in
            let part = folder.appending(path: "song.part")
            let song = folder.appending(path: "song")
            let stream = try await part.openForWriting(lock: .exclusive, using: io)
            try await stream.write(pattern(10))
            let (calls, jobs) = (log.all.count, io.metrics.jobsFinished)
            try await stream.publish(as: song, durability: durability)
            #expect(Array(log.all[calls...]) == order)
            #expect(io.metrics.jobsFinished == jobs + 1)
            #expect(same(contents(of: song), pattern(10)))
            #expect(names(in: folder) == ["song"])
        }
    }

    @Test func `publishing with fail leaves what is there, and the part under its name`() async throws {
        try await withIO { io, folder in
            let part = folder.appending(path: "song.part")
            let song = folder.appending(path: "song")
            try pattern(50).write(to: song)
            let stream = try await part.openForWriting(lock: .exclusive, using: io)
            try await stream.write(pattern(10))
            do {
                try await stream.publish(as: song, existing: .fail)
                Issue.record("nothing was thrown")
            } catch let error as FileError {
                #expect(error.code == .exists && error.path == song.path)
            }
            #expect(io.metrics.openFiles == 0)
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
        try await withIO(calls: .failing(call, with: number)) { io, folder in
            let part = folder.appending(path: "song.part")
            let stream = try await part.openForWriting(lock: .exclusive, using: io)
            do {
                try await stream.publish(as: folder.appending(path: "song"))
                Issue.record("nothing was thrown")
            } catch let error as FileError {
                #expect(error.code == code)
            }
            #expect(io.metrics.openFiles == 0)
            #expect(names(in: folder) == ["song.part"])
        }
    }

    @Test func `discarding removes the file, but not what others put under its name`() async throws {
        try await withIO { io, folder in
            let part = folder.appending(path: "song.part")
            let stream = try await part.openForWriting(lock: .exclusive, using: io)
            let jobs = io.metrics.jobsFinished
            try await stream.discard()
            #expect(io.metrics.jobsFinished == jobs + 1)
            #expect(names(in: folder) == [])

            let other = try await part.openForWriting(using: io)
            try FileManager.default.removeItem(at: part)
            try pattern(7).write(to: part)
            try await other.discard()
            #expect(same(contents(of: part), pattern(7)))

            let gone = try await part.openForWriting(using: io)
            try FileManager.default.removeItem(at: part)
            try await gone.discard()
            #expect(io.metrics.openFiles == 0)
        }
    }
}
