import CSluiceFiles
import Dispatch
import Foundation
import SluiceFiles
import Synchronization

/// A child process for tests that can't run in the process of the tests: limits of a whole process, and its death.
///
///     FileWorker limited 256 DIRECTORY     10,000 concurrent reads of the files in DIRECTORY, with 256 descriptors
///     FileWorker replace PATH full - 3     replaces PATH by 5,000 bytes `n`, and dies of SIGKILL before the fourth call
///     FileWorker tour DIRECTORY            an operation of every kind, for strace
///     FileWorker lanes DIRECTORY           reads blocks of a file and a pipe, and prints the lanes that counted them
///     FileWorker fault swift|c             uses memory that it has freed, for Scripts/checks/sanitizers.sh
///     FileWorker threads                   reads and waits with no thread, one and two beside its own, as a user without rights
///     FileWorker closed DIRECTORY          reads and writes a file while a standard stream may be closed
///
/// Exits with 0 on success, and with 1 after an error, which it writes to standard error.
@main
struct FileWorker {
    static func main() {
        let arguments = CommandLine.arguments.dropFirst()
        if arguments.first == "threads" {
            // Only on this thread: Dispatch would wait until the system has a thread for the cooperative pool.
            let thread = OneThread()
            Task(executorPreference: thread) { await run(arguments) }
            thread.run()
        }
        Task { await run(arguments) }
        dispatchMain()
    }

    static func run(_ arguments: ArraySlice<String>) async -> Never {
        do {
            switch arguments.first {
            case "limited": try await readAll(arguments.dropFirst().map { $0 })
            case "replace": try await replace(arguments.dropFirst().map { $0 })
            case "tour": try await tour(URL(filePath: arguments.last!, directoryHint: .isDirectory))
            case "lanes": try await lanes(URL(filePath: arguments.last!, directoryHint: .isDirectory))
            case "fault": try useAfterFree(inC: arguments.last == "c")
            case "threads": try await fewThreads()
            case "closed": try await closedStreams(URL(filePath: arguments.last!, directoryHint: .isDirectory))
            default: throw Usage()
            }
        } catch {
            FileHandle.standardError.write(Data("\(error)\n".utf8))
            exit(1)
        }
        exit(0)
    }

    struct Usage: Error {}
    struct WrongBytes: Error { var url: URL }
    struct Unexpected: Error { var what: String }

    // MARK: Few descriptors

    #if canImport(Glibc)
    static let descriptors = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    // RLIMIT_NPROC, a macro that is not imported. See getrlimit(2).
    static let threads = __rlimit_resource_t(__RLIMIT_NPROC.rawValue)
    #else
    static let descriptors = RLIMIT_NOFILE
    static let threads = RLIMIT_NPROC
    #endif

    /// Limits a resource to `few` more than are in use already.
    static func limit(_ resource: Resource, _ few: Int, most: Int) throws {
        var limits = rlimit(rlim_cur: rlim_t(few), rlim_max: rlim_t(most))
        guard setrlimit(resource, &limits) == 0 else { throw POSIXError(.init(rawValue: errno) ?? .EPERM) }
    }

    static func readAll(_ arguments: [String]) async throws {
        let few = Int(arguments[0])!
        try limit(descriptors, few, most: few)
        let directory = URL(filePath: arguments[1], directoryHint: .isDirectory)
        let io = FileIO(configuration: .init(concurrency: 16))
        let wanted = Data(repeating: 0x6F, count: 5000)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for index in 0..<10_000 {
                group.addTask {
                    let url = directory.appending(path: "\(index % 20)")
                    if try await Data(asyncContentsOf: url, using: io) != wanted { throw WrongBytes(url: url) }
                }
            }
            try await group.waitForAll()
        }
        await io.shutdown()
    }

    // MARK: Few threads

    /// Reads and waits with the threads that the limit of the system allows: none, then one, then two.
    static func fewThreads() async throws {
        // Every user may read it.
        let file = URL(filePath: "/etc/passwd")
        let wanted = try Data(contentsOf: file)
        var ends: [CInt] = [-1, -1]
        guard pipe(&ends) == 0, write(ends[1], "bytes", 5) == 5 else { throw POSIXError(.EMFILE) }
        // The limit counts all threads of a user, and root has no limit. So this needs a user without other processes.
        guard setgid(65_534) == 0, setuid(60_000 + uid_t(getpid() % 4000)) == 0 else { throw POSIXError(.EPERM) }

        let io = FileIO(configuration: .init(concurrency: 4, lanes: [.pool]))
        try limit(threads, 1, most: 3)
        try await expectNoThread { _ = try await Data(asyncContentsOf: file, using: io) }
        try await expectNoThread { try await io.waitUntilReady(ends[0], .reading, "pipe") }
        guard io.statistics.threadCount == 0, io.statistics.openCount == 0 else {
            throw Unexpected(what: "\(io.statistics)")
        }

        try limit(threads, 2, most: 3)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<100 {
                group.addTask {
                    guard try await Data(asyncContentsOf: file, using: io) == wanted else {
                        throw WrongBytes(url: file)
                    }
                }
            }
            try await group.waitForAll()
        }
        try await expectNoThread { try await io.waitUntilReady(ends[0], .reading, "pipe") }
        guard io.statistics.threadCount == 1, io.statistics.openCount == 0 else {
            throw Unexpected(what: "\(io.statistics)")
        }

        try limit(threads, 3, most: 3)
        try await io.waitUntilReady(ends[0], .reading, "pipe")
        guard io.statistics.threadCount == 2 else { throw Unexpected(what: "\(io.statistics)") }
        await io.shutdown()
    }

    private static func expectNoThread(_ body: () async throws -> Void) async throws {
        do {
            try await body()
        } catch let error as FileError where error.code == .exhausted && error.remedy?.contains("ulimit -u") == true {
            return
        }
        throw Unexpected(what: "there was a thread")
    }

    // MARK: Standard streams

    /// Writes a file and reads it, and prints in between. Exits with 0 only if the file has the written bytes, and no file of the
    /// engine has the number of a standard stream.
    static func closedStreams(_ directory: URL) async throws {
        let lowest = Atomic(CInt.max)
        let calls = SystemCalls.system.intercepted(by: { _ in nil }) { call, result in
            if [.open, .openAt, .readinessReopen].contains(call), result >= 0 {
                lowest.min(CInt(result), ordering: .relaxed)
            }
        }
        let io = FileIO(configuration: .init(concurrency: 2, lanes: [.pool]), calls: calls)
        let file = directory.appending(path: "file")
        let wanted = Data(repeating: 6, count: 5000)
        let stream = try await file.openForWriting(using: io)
        try await stream.write(wanted)
        // As any library may. The descriptors may be closed; our files must not have their numbers.
        for standard in [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO] { _ = write(standard, "message\n", 8) }
        try await stream.write(wanted)
        try await stream.close()
        guard try await Data(asyncContentsOf: file, using: io) == wanted + wanted else { throw WrongBytes(url: file) }
        try await io.copyTree(directory, to: directory.appendingPathExtension("copy"))
        for try await item in io.walk(directory) where item.relativePath != "file" { throw WrongBytes(url: directory) }
        guard lowest.load(ordering: .relaxed) > STDERR_FILENO else { throw Unexpected(what: "a file was opened there") }
        await io.shutdown()
    }

    // MARK: Death

    static func replace(_ arguments: [String]) async throws {
        let url = URL(filePath: arguments[0])
        let levels: [String: Durability] = [
            "none": .none, "data": .data, "full": .full, "fullAndDirectory": .fullAndDirectory,
        ]
        let options = FileWriteOptions(
            durability: levels[arguments[1]]!, temporaryName: arguments[2] == "-" ? nil : arguments[2])
        var calls = SystemCalls.system
        if arguments.count > 3 {
            calls = calls.intercepted(at: Int(arguments[3])!) { _ in
                kill(getpid(), SIGKILL)
                return nil
            }
        }
        let io = FileIO(configuration: .init(concurrency: 1), calls: calls)
        try await Data(repeating: 0x6E, count: 5000).asyncWrite(to: url, options: options, using: io)
        await io.shutdown()
    }

    // MARK: All operations

    static func tour(_ directory: URL) async throws {
        let io = FileIO(configuration: .init(concurrency: 2))
        let file = directory.appending(path: "file")
        try await io.createDirectory(at: directory.appending(path: "a/b"))
        for durability in [Durability.none, .data, .full, .fullAndDirectory] {
            try await Data(repeating: 1, count: 5000).asyncWrite(
                to: file, options: .init(durability: durability), using: io)
        }
        try await Data(repeating: 2, count: 10).asyncWrite(
            to: directory.appending(path: "new"), options: .init(existing: .fail, temporaryName: "new.part"), using: io)
        for _ in 0..<2 { _ = try await Data(asyncContentsOf: file, using: io) }
        for try await _ in file.chunks(of: 1000, using: io) {}
        try await file.withFileForReading(using: io) { _ = try await $0.readToEnd() }
        let part = try await directory.appending(path: "part").openForWriting(locked: true, using: io)
        try await part.write(Data(repeating: 3, count: 100))
        try await part.publish(as: directory.appending(path: "whole"), durability: .fullAndDirectory)
        try await io.rename(file, to: directory.appending(path: "a/moved"), existing: .fail)
        try await io.withTemporaryDirectory(in: directory) { temporary in
            try await Data().asyncWrite(to: temporary.appending(path: "x"), using: io)
        }
        try await io.removeTree(directory.appending(path: "a"))
        await io.shutdown()
    }

    // MARK: Memory

    /// Uses freed memory, in Swift or in a function of CSluiceFiles, to prove that AddressSanitizer reports it.
    @inline(never)
    static func useAfterFree(inC: Bool) throws {
        let memory = UnsafeMutablePointer<csluice_status>.allocate(capacity: 1)
        memory.initialize(to: csluice_status())
        memory.deallocate()
        if inC {
            _ = csluice_stat("/", memory)
        } else {
            memory.pointee.size = 1
        }
    }

    // MARK: Lanes

    /// Reads eight blocks of a cached file, and once from a pipe that is empty at first, with the lanes that
    /// `SLUICE_FILES_LANES` enables.
    static func lanes(_ directory: URL) async throws {
        let io = FileIO()
        let file = directory.appending(path: "blocks")
        let wanted = Data(repeating: 4, count: 8 * 4096)
        try await wanted.asyncWrite(to: file, using: io)
        let stream = try await file.openForReading(using: io)
        var before = io.statistics.completions
        var found = Data()
        for _ in 0..<8 { found += try await stream.read(upToCount: 4096) }
        if found != wanted { throw WrongBytes(url: file) }
        show("blocks", io.statistics.completions, since: before)
        try await stream.close()

        var ends: [CInt] = [-1, -1]
        guard pipe(&ends) == 0 else { throw POSIXError(.init(rawValue: errno) ?? .EMFILE) }
        before = io.statistics.completions
        let reading = Task { [ends] in try await io.read(upToCount: 5, descriptor: ends[0], name: "pipe") }
        try await io.waitForStatistics { $0.readinessWaitingCount == 1 }
        let written = write(ends[1], "bytes", 5)
        guard written == 5, try await reading.value == Data("bytes".utf8) else { throw WrongBytes(url: directory) }
        show("pipe", io.statistics.completions, since: before)
        await io.shutdown()
    }

    private static func show(_ what: String, _ now: FileIO.Completions, since before: FileIO.Completions) {
        print(what, now.inline - before.inline, now.pool - before.pool, now.readiness - before.readiness)
    }
}

/// An executor that runs tasks on the thread that calls `run()`, and starts no thread.
final class OneThread: TaskExecutor, @unchecked Sendable {
    // `condition` protects `jobs`.
    private let condition = NSCondition()
    private var jobs: [UnownedJob] = []

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        condition.withLock { jobs.append(job) }
        condition.signal()
    }

    func run() -> Never {
        while true {
            let job = condition.withLock {
                while jobs.isEmpty { condition.wait() }
                return jobs.removeFirst()
            }
            job.runSynchronously(on: asUnownedTaskExecutor())
        }
    }
}

#if canImport(Glibc)
typealias Resource = __rlimit_resource_t
#else
typealias Resource = CInt
#endif
