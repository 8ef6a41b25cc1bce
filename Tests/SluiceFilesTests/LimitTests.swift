import Foundation
import SluiceFiles
import TestSupport
import Testing

/// The system's calls, with EMFILE for an open that is one too many.
private func calls(withDescriptors limit: Int) -> SystemCalls {
    let openCount = Guarded(0)
    return SystemCalls.system.intercepted { call in
        guard call.opensDescriptor, call != .inlineOpen else { return call == .inlineOpen ? EAGAIN : nil }
        // Counted before the call, so that no two threads take the last one.
        return openCount.withLock { count in
            if count == limit { return EMFILE }
            count += 1
            return nil
        }
    } observing: { call, result in
        if call.opensDescriptor && call != .inlineOpen && result < 0 && result != -Int(EMFILE) || call == .close {
            openCount.withLock { $0 -= 1 }
        }
    }
}

@Suite(.timeLimit(.minutes(15))) struct `Few descriptors` {
    @Test(arguments: [1, 2, 4])
    func `reading whole files takes at most one descriptor for each thread of the engine`(concurrency: Int) async throws
    {
        let calls = calls(withDescriptors: concurrency)
        try await withIO(concurrency: concurrency, calls: calls, in: memoryDirectory) { io, directory in
            for index in 0..<8 {
                try pattern(4096, seed: UInt8(index)).write(to: directory.appending(path: "\(index)"))
            }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for index in 0..<600 {
                    let url = directory.appending(path: "\(index % 8)")
                    group.addTask {
                        if index % 3 == 0 {
                            let options = FileWriteOptions(durability: index % 2 == 0 ? .none : .fullAndDirectory)
                            try await pattern(4096, seed: UInt8(index % 8)).asyncWrite(
                                to: url, options: options, using: io)
                        } else {
                            try expectSame(
                                await Data(asyncContentsOf: url, using: io), pattern(4096, seed: UInt8(index % 8)))
                        }
                    }
                }
                try await group.waitForAll()
            }
        }
    }

    @Test func `if no descriptor is available, each open throws`() async throws {
        try await withIO(concurrency: 8, calls: calls(withDescriptors: 0), in: memoryDirectory) { io, directory in
            let url = directory.appending(path: "file")
            try pattern(300).write(to: url)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<2000 {
                    group.addTask {
                        await expectFileError(.tooManyOpenFiles) { try await Data(asyncContentsOf: url, using: io) }
                    }
                }
                try await group.waitForAll()
            }
        }
    }

    @Test func `an open beyond the limit throws, counts the open files, and succeeds once one is closed`() async throws
    {
        try await withIO(concurrency: 4, calls: calls(withDescriptors: 2)) { io, directory in
            let url = directory.appending(path: "file")
            try pattern(300).write(to: url)
            let first = try await url.openForReading(using: io)
            let second = try await url.openForReading(using: io)
            for error in [
                await expectFileError(.tooManyOpenFiles) { try await url.openForReading(using: io).close() },
                await expectFileError(.tooManyOpenFiles) { try await Data(asyncContentsOf: url, using: io) },
            ] {
                #expect(error?.subject == url.path)
                #expect(error?.remedy?.contains("the 2 files of this FileIO") == true)
                #expect(error?.remedy?.contains("ulimit -n") == true)
            }
            try await first.close()
            try expectSame(await Data(asyncContentsOf: url, using: io), pattern(300))
            try await second.close()
        }
    }

    @Test func `ten thousand whole files are read concurrently with 256 descriptors`() async throws {
        let worker = try builtProgram("FileWorker")
        try await withIO(in: memoryDirectory) { _, directory in
            for index in 0..<20 {
                try Data(repeating: 0x6F, count: 5000).write(to: directory.appending(path: "\(index)"))
            }
            let end = try await ChildProcess(worker, ["limited", "256", directory.path]).end()
            #expect(end.status == 0, "\(end)")
        }
    }
}

// MARK: - A process

/// Scarce resources of a process, and missing standard streams. Each test runs in a child process; see FileWorker.
@Suite(.timeLimit(.minutes(15))) struct `Limits of a process` {
    @Test(.enabled(if: geteuid() == 0, "skipped: only root can become a user that has no other process"))
    func `a pool works with the threads that it gets, and without any, the error names the limit`() async throws {
        let end = try await ChildProcess(builtProgram("FileWorker"), ["threads"]).end()
        #expect(end.status == 0, "\(end)")
    }

    @Test(arguments: ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
    func `no file gets the number of a closed standard stream`(closed: String) async throws {
        let worker = try builtProgram("FileWorker")
        try await withIO { _, directory in
            // Standard error may be closed, so the shell reports the status.
            let inner = directory.appending(path: "inner")
            try FileManager.default.createDirectory(at: inner, withIntermediateDirectories: false)
            let script =
                "\"$0\" closed \"$1\" \(closed); status=$?; [ $status = 0 ] || echo \"status $status\" >&2; exit $status"
            let end = try await ChildProcess(URL(filePath: "/bin/sh"), ["-c", script, worker.path, inner.path]).end()
            #expect(end.status == 0, "\(end)")
        }
    }
}
