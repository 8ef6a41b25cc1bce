import Foundation
import SluiceFiles
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct `Mapped faults` {
    @Test(arguments: [EACCES, EAGAIN, EINVAL, ENFILE, ENODEV, ENOMEM, EOVERFLOW, EPERM, EIO])
    func `a mapping that fails is an error and leaves nothing open`(number: CInt) async throws {
        var calls = SystemCalls.system
        calls.randomAccess.map = { _, _, _, _ in -number }
        try await withIO(calls: calls) { io, directory in
            let url = directory.appending(path: "file")
            for size in [0, 10] {
                try pattern(size).write(to: url)
                do {
                    try await MappedFile(contentsOf: url, using: io).close()
                    Issue.record("nothing was thrown")
                } catch let error as FileError {
                    #expect(error.systemError == number && error.operation == "map" && error.subject == url.path)
                    if number == ENODEV { #expect(error.code == .unsupported) }
                    if number == EIO { #expect(error.code == (size == 0 ? .unsupported : .inputOutput)) }
                }
                #expect(io.statistics.openCount == 0)
            }
        }
    }

    @Test func `a failure before the mapping or after it is an error too`() async throws {
        var statusFails = SystemCalls.system
        statusFails.statusOfDescriptor = { _, _ in -EIO }
        var unmapFails = SystemCalls.system
        unmapFails.randomAccess.unmap = { address, count in
            _ = RandomAccessCalls.system.unmap(address, count)
            return -ENOMEM
        }
        for (calls, operation, code) in [
            (statusFails, "read the status of", FileError.Code.inputOutput), (unmapFails, "unmap", .exhausted),
        ] {
            try await withIO(calls: calls) { io, directory in
                let url = directory.appending(path: "file")
                for size in [0, 10] {
                    try pattern(size).write(to: url)
                    let error = await expectFileError(code) { try await url.withMappedFile(using: io) { _ in } }
                    #expect(error?.operation == operation && error?.subject == url.path)
                    #expect(io.statistics.openCount == 0)
                }
            }
        }
    }

    @Test(arguments: [EINVAL, ENOSYS])
    func `where the kernel cannot populate, a worker touches the pages`(number: CInt) async throws {
        let touched = Guarded<[String]>([])
        var calls = SystemCalls.system
        calls.randomAccess.populate = { _, _ in -number }
        calls.randomAccess.touch = { address, count in
            touched.withLock { $0.append("\(count) on \(nameOfThisThread())") }
            return RandomAccessCalls.system.touch(address, count)
        }
        try await withIO(calls: calls) { io, directory in
            let url = directory.appending(path: "file")
            try pattern(100_001).write(to: url)
            try await url.withMappedFile(using: io) { file in
                try await file.prefetch()
                try await file.prefetch(5..<6)
            }
            #expect(touched.withLock { $0 } == ["100001 on sluice-files", "1 on sluice-files"])
        }
    }

    @Test(arguments: [EFAULT, ENOMEM, EIO, EPERM])
    func `a prefetch that fails is an error, and one that is interrupted is made again`(number: CInt) async throws {
        let attempts = Guarded(0)
        var calls = SystemCalls.system
        calls.randomAccess.populate = { _, _ in
            attempts.withLock {
                $0 += 1; return $0 % 3 == 0
            } ? -number : -EINTR
        }
        calls.randomAccess.adviseMemory = { _, _, _ in
            attempts.withLock {
                $0 += 1; return $0 % 3 == 0
            } ? -number : -EINTR
        }
        try await withIO(calls: calls) { io, directory in
            let url = directory.appending(path: "file")
            try pattern(10).write(to: url)
            try await url.withMappedFile(using: io) { file in
                for operation in ["prefetch", "advise the system about"] {
                    do {
                        if operation == "prefetch" { try await file.prefetch() } else { try await file.advise(.needed) }
                        Issue.record("nothing was thrown")
                    } catch let error as FileError {
                        #expect(
                            error.systemError == number && error.operation == operation && error.subject == url.path)
                    }
                }
            }
            #expect(attempts.withLock { $0 } == 6)
        }
    }

    @Test func `a long prefetch goes in steps, and stops between two`() async throws {
        let steps = Guarded<[Int]>([])
        let task = Guarded<Task<Void, any Error>?>(nil)
        let gate = ThreadGate()
        var calls = SystemCalls.system
        calls.randomAccess.populate = { _, count in
            if steps.withLock({
                $0.append(count); return $0.count
            }) == 2 {
                gate.pass()
                task.withLock { $0 }?.cancel()
            }
            return 0
        }
        try await withIO(calls: calls) { io, directory in
            let url = directory.appending(path: "file")
            try Data().write(to: url)
            truncate(url.path, (100 << 20) + 5)
            let prefetch = Task { try await url.withMappedFile(using: io) { try await $0.prefetch() } }
            await gate.waitForThreads(1)
            task.withLock { $0 = prefetch }
            gate.open()
            await #expect(throws: CancellationError.self) { try await prefetch.value }
            #expect(steps.withLock { $0 } == [32 << 20, 32 << 20])

            steps.withLock { $0 = [0, 0] }
            try await url.withMappedFile(using: io) { try await $0.prefetch(1..<(100 << 20)) }
            #expect(steps.withLock { $0[2...] } == [32 << 20, 32 << 20, 32 << 20, (4 << 20) - 1])
        }
    }

    @Test func `advice of every kind is taken, for the pages of its range`() async throws {
        let given = Guarded<[String]>([])
        let start = Guarded(0)
        var calls = SystemCalls.system
        calls.randomAccess.map = { descriptor, count, isChangeable, address in
            let result = RandomAccessCalls.system.map(descriptor, count, isChangeable, &address)
            start.withLock { $0 = Int(bitPattern: address) }
            return result
        }
        calls.randomAccess.adviseMemory = { address, count, advice in
            given.withLock { $0.append("\(advice) \(Int(bitPattern: address) - start.withLock { $0 }) \(count)") }
            return RandomAccessCalls.system.adviseMemory(address, count, advice)
        }
        try await withIO(calls: calls) { io, directory in
            let url = directory.appending(path: "file")
            try pattern(20_000).write(to: url)
            try await url.withMappedFile(using: io) { file in
                for advice in AccessAdvice.allCases { try await file.advise(advice) }
                try await file.advise(.notNeeded, for: 5001..<5002)
                try await file.advise(.notNeeded, for: 3..<3)
                #expect(file.bytes.withUnsafeBytes { same(Data($0), pattern(20_000)) })
            }
            #expect(given.withLock { $0 } == AccessAdvice.allCases.map { "\($0) 0 20000" } + ["notNeeded 5001 1"])
        }
    }

    @Test func `a range outside of the file stops the program with a sentence`() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            try await FileIO.shared.withTemporaryDirectory { directory in
                let url = directory.appending(path: "file")
                try Data(count: 10).write(to: url)
                try await url.withMappedFile { file in
                    unlink(url.path)
                    rmdir(directory.path)
                    try await file.prefetch(5..<11)
                }
            }
        }
        let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(text.contains("The range must be within the file's 10 bytes; it is 5..<11."))
    }
}
