import Foundation
import SluiceFiles

/// A process for what cannot be tried in the process of the tests: limits that hold for a whole process, and its death.
///
///     FileWorker limited 256 FOLDER        10,000 reads at once of the files in FOLDER, with so many descriptors
///     FileWorker replace PATH full - 3     replaces PATH by 5,000 bytes `n`, and dies of SIGKILL before the fourth call
///     FileWorker tour FOLDER               a bit of everything, to be looked at with strace
///     FileWorker lanes FOLDER              reads blocks of a file and a pipe, and prints which lanes counted them
///
/// Exits with 0 if all went well, with 1 after an error, which it writes to standard error.
@main
struct FileWorker {
    static func main() async {
        let arguments = CommandLine.arguments.dropFirst()
        do {
            switch arguments.first {
            case "limited": try await readAll(arguments.dropFirst().map { $0 })
            case "replace": try await replace(arguments.dropFirst().map { $0 })
            case "tour": try await tour(URL(filePath: arguments.last!, directoryHint: .isDirectory))
            case "lanes": try await lanes(URL(filePath: arguments.last!, directoryHint: .isDirectory))
            default: throw Usage()
            }
        } catch {
            FileHandle.standardError.write(Data("\(error)\n".utf8))
            exit(1)
        }
    }

    struct Usage: Error {}
    struct WrongBytes: Error { var url: URL }

    // MARK: Few descriptors

    /// Leaves `few` descriptors, of which some are in use already.
    static func limit(_ few: Int) throws {
        var limits = rlimit(rlim_cur: rlim_t(few), rlim_max: rlim_t(few))
        #if canImport(Glibc)
        let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        #else
        let resource = RLIMIT_NOFILE
        #endif
        guard setrlimit(resource, &limits) == 0 else { throw POSIXError(.init(rawValue: errno) ?? .EPERM) }
    }

    static func readAll(_ arguments: [String]) async throws {
        try limit(Int(arguments[0])!)
        let folder = URL(filePath: arguments[1], directoryHint: .isDirectory)
        let io = FileIO(configuration: .init(threads: 16))
        let wanted = Data(repeating: 0x6F, count: 5000)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for index in 0..<10_000 {
                group.addTask {
                    let url = folder.appending(path: "\(index % 20)")
                    if try await Data(asyncContentsOf: url, using: io) != wanted { throw WrongBytes(url: url) }
                }
            }
            try await group.waitForAll()
        }
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
        let io = FileIO(configuration: .init(threads: 1), calls: calls)
        try await Data(repeating: 0x6E, count: 5000).asyncWrite(to: url, options: options, using: io)
        await io.shutdown()
    }

    // MARK: Everything

    static func tour(_ folder: URL) async throws {
        let io = FileIO(configuration: .init(threads: 2))
        let file = folder.appending(path: "file")
        try await io.makeDirectory(at: folder.appending(path: "a/b"))
        for durability in [Durability.none, .data, .full, .fullAndDirectory] {
            try await Data(repeating: 1, count: 5000).asyncWrite(
                to: file, options: .init(durability: durability), using: io)
        }
        try await Data(repeating: 2, count: 10).asyncWrite(
            to: folder.appending(path: "new"), options: .init(existing: .fail, temporaryName: "new.part"), using: io)
        for _ in 0..<2 { _ = try await Data(asyncContentsOf: file, using: io) }
        for try await _ in file.chunks(of: 1000, using: io) {}
        try await file.withFileForReading(using: io) { _ = try await $0.readToEnd() }
        let part = try await folder.appending(path: "part").openForWriting(lock: .exclusive, using: io)
        try await part.write(Data(repeating: 3, count: 100))
        try await part.publish(as: folder.appending(path: "whole"), durability: .fullAndDirectory)
        try await io.rename(file, to: folder.appending(path: "a/moved"), existing: .fail)
        try await io.withTemporaryDirectory(in: folder) { temporary in
            try await Data().asyncWrite(to: temporary.appending(path: "x"), using: io)
        }
        try await io.removeTree(folder.appending(path: "a"))
        await io.shutdown()
    }

    // MARK: Lanes

    /// Eight blocks of a file that is in memory, and one read of a pipe that is empty at first. With the lanes that
    /// `SLUICE_FILES_LANES` leaves.
    static func lanes(_ folder: URL) async throws {
        let io = FileIO()
        let file = folder.appending(path: "blocks")
        let wanted = Data(repeating: 4, count: 8 * 4096)
        try await wanted.asyncWrite(to: file, using: io)
        let stream = try await file.openForReading(using: io)
        var before = io.metrics.completions
        var found = Data()
        for _ in 0..<8 { found += try await stream.read(upToCount: 4096) }
        if found != wanted { throw WrongBytes(url: file) }
        show("blocks", io.metrics.completions, since: before)
        try await stream.close()

        var ends: [CInt] = [-1, -1]
        guard pipe(&ends) == 0 else { throw POSIXError(.init(rawValue: errno) ?? .EMFILE) }
        before = io.metrics.completions
        let reading = Task { [ends] in try await io.read(upToCount: 5, fromDescriptor: ends[0], name: "pipe") }
        try await io.waitForMetrics { $0.readinessWaits == 1 }
        let written = write(ends[1], "bytes", 5)
        guard written == 5, try await reading.value == Data("bytes".utf8) else { throw WrongBytes(url: folder) }
        show("pipe", io.metrics.completions, since: before)
        await io.shutdown()
    }

    private static func show(_ what: String, _ now: FileIO.Completions, since before: FileIO.Completions) {
        print(what, now.inline - before.inline, now.pool - before.pool, now.readiness - before.readiness)
    }
}
