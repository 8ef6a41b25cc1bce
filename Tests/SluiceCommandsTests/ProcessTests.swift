import Foundation
import LoopbackOrigin
import SluiceConcurrency
import SluiceFiles
import TestSupport
import Testing

@testable import SluiceCommands

/// The standard streams that are closed when a process starts.
struct ClosedStreams: OptionSet, Hashable, Sendable, CustomTestStringConvertible {
    let rawValue: Int

    static let input = ClosedStreams(rawValue: 1)
    static let output = ClosedStreams(rawValue: 2)
    static let error = ClosedStreams(rawValue: 4)

    static let all: [ClosedStreams] = (0..<8).map { ClosedStreams(rawValue: $0) }

    /// The shell command that closes them.
    var line: String {
        let parts = [(Self.input, "<&-"), (.output, ">&-"), (.error, "2>&-")].filter { contains($0.0) }.map(\.1)
        return ([#"exec "$@""#] + parts).joined(separator: " ")
    }

    /// Their descriptors.
    var numbers: [Int] { (0..<3).filter { contains(ClosedStreams(rawValue: 1 << $0)) } }

    var testDescription: String { line }
}

@Suite(.timeLimit(.minutes(15))) struct `Standard streams` {
    @Test(arguments: ClosedStreams.all)
    func `files and sockets don't get the numbers of closed standard streams`(closed: ClosedStreams) async throws {
        let body = Array("the content\n".utf8)
        let (process, found) = (Monitor<Int32?>(nil), Monitor<[String]>([]))
        try await FileIO.shared.withTemporaryDirectory(prefix: "sluice-tests") { directory in
            try await LoopbackOrigin.serve { _ in
                // What these numbers refer to while the process waits for an answer
                let id = try? await process.waitUnlessCancelled { $0 }
                found.withState { $0 += closed.numbers.map { Self.file(of: id ?? 0, $0) } }
                return OriginResponse(body: body)
            } during: { origin in
                // When
                let files = directory.appending(path: "files")
                let arguments = ["get", "-d", files.path, "--db", directory.appending(path: "queue.db").path]
                let ended = try await ChildProcess.sluice(closed.line, arguments + ["/a", "/b"].map(origin.url)) {
                    child in
                    process.withState { $0 = child.pid }
                }
                // Then
                #expect(ended.status == 0 && !ended.wasSignalled, "\(ended)")
                #expect(ended.output == "")
                #expect(ended.error.contains("Downloaded 2 files") == !closed.contains(.error), "\(ended)")
                #expect(try FileManager.default.contentsOfDirectory(atPath: files.path).sorted() == ["a", "b"])
                for name in ["a", "b"] {
                    #expect(try Data(contentsOf: files.appending(path: name)).elementsEqual(body))
                }
                #if os(Linux)
                #expect(found.withState { $0 } == Array(repeating: "/dev/null", count: 2 * closed.numbers.count))
                #endif
            }
        }
    }

    /// The file that a descriptor of a process refers to (proc(5)).
    private static func file(of process: Int32, _ descriptor: Int) -> String {
        (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(process)/fd/\(descriptor)")) ?? "nothing"
    }

    @Test(arguments: ClosedStreams.all)
    func `a closed standard stream fails only when it is used`(closed: ClosedStreams) async throws {
        try await FileIO.shared.withTemporaryDirectory(prefix: "sluice-tests") { directory in
            let document = directory.appending(path: "notes.md")
            try await Data("text\n".utf8).asyncWrite(to: document)
            // Standard input is the null device here.
            let read = try await ChildProcess.sluice(closed.line, ["show", "-"])
            let isReadable = !closed.contains(.input)
            #expect(read.status == (isReadable ? 0 : 3) && !read.wasSignalled, "\(read)")
            #expect(read.output == "")
            if !closed.contains(.error) {
                #expect(read.error.contains("Couldn't read 'standard input'") == !isReadable, "\(read)")
            }

            let written = try await ChildProcess.sluice(closed.line, ["show", document.path])
            let isWritable = !closed.contains(.output)
            #expect(written.status == (isWritable ? 0 : 3) && !written.wasSignalled, "\(written)")
            #expect(written.output == (isWritable ? "text\n" : ""))
            if !closed.contains(.error) {
                #expect(written.error.contains("Couldn't write 'standard output'") == !isWritable, "\(written)")
            }
            #expect(try Data(contentsOf: document) == Data("text\n".utf8))
        }
    }

    @Test(
        .enabled(if: FileManager.default.fileExists(atPath: "/dev/full"), "skipped: there is no /dev/full"),
        arguments: [["show", "{document}"], ["--help"], ["get", "--help"], ["--version"]])
    func `output to a full device ends with a message and status 3`(arguments: [String]) async throws {
        try await FileIO.shared.withTemporaryDirectory(prefix: "sluice-tests") { directory in
            let document = directory.appending(path: "notes.md")
            try await Data("text\n".utf8).asyncWrite(to: document)
            let filled = arguments.map { $0.replacing("{document}", with: document.path) }
            let ended = try await ChildProcess.sluice(#"exec "$@" > /dev/full"#, filled)
            #expect(ended.status == 3 && !ended.wasSignalled, "\(ended)")
            #expect(ended.error.hasPrefix("sluice: Couldn't write 'standard output': "), "\(ended)")
            #expect(ended.error.contains("(ENOSPC)") && ended.error.split(separator: "\n").count == 1)
        }
    }

    @Test(
        .enabled(if: FileManager.default.fileExists(atPath: "/dev/full"), "skipped: there is no /dev/full"),
        arguments: [
            ("json", #"exec "$@" > /dev/full"#), ("lines", #"exec "$@" 2> /dev/full"#),
            ("auto", #"exec "$@" 2> /dev/full"#),
        ])
    func `progress that is lost on a full device is a failure, but the downloads succeed`(style: String, line: String)
        async throws
    {
        try await FileIO.shared.withTemporaryDirectory(prefix: "sluice-tests") { directory in
            try await LoopbackOrigin.serve { request in
                request.target == "/bad" ? OriginResponse(status: 404) : OriginResponse(body: [1, 2, 3])
            } during: { origin in
                let arguments = ["get", "--progress", style, "-d", directory.path]
                let ended = try await ChildProcess.sluice(line, arguments + ["/a", "/b"].map(origin.url))
                #expect(ended.status == 3 && !ended.wasSignalled, "\(ended)")
                #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path).sorted() == ["a", "b"])
                let message = "sluice: Couldn't write 'standard output': "
                #expect(ended.error.hasPrefix(message) == (style == "json"), "\(ended)")
                // A failed download is worse than lost messages, but not worse than lost output.
                let failed = try await ChildProcess.sluice(line, arguments + [origin.url("/bad")])
                #expect(failed.status == (style == "json" ? 3 : 8), "\(failed)")
            }
        }
    }

    @Test func `a command ends silently if nothing reads its output`() async throws {
        try await FileIO.shared.withTemporaryDirectory(prefix: "sluice-tests") { directory in
            let document = directory.appending(path: "notes.md")
            try await Data(String(repeating: "word\n\n", count: 20_000).utf8).asyncWrite(to: document)
            let line = #"{ "$@"; echo "status $?" >&2; } | head -n 1"#
            let ended = try await ChildProcess.sluice(line, ["show", document.path])
            #expect(ended.output == "word\n" && ended.error == "status 0\n", "\(ended)")
        }
    }
}

@Suite struct `Output that is lost` {
    private struct Failure: Error {}

    @Test func `after a failed write, no more output is written, and a message follows`() async {
        // Given a disk that is full from the second write on
        let error = FileError(operation: "write", path: "standard output", systemError: ENOSPC)
        let written = Monitor<[String]>([])
        let console = Console { text, stream in
            let count = written.withState { written in
                written.append("\(stream): \(text)")
                return written.count
            }
            if count == 2 { throw error }
        }
        // When
        for number in 1...4 { await console.write("\(number)", to: .output) }
        let status = await console.settle(.success, wasInterrupted: false)
        // Then
        #expect(written.withState { $0 } == ["output: 1", "output: 2", "error: sluice: \(error)\n"])
        #expect(status == .localFile)
    }

    @Test(arguments: [
        (ExitStatus.success, ExitStatus.localFile), (.http, .localFile), (.store, .store), (.interrupted, .interrupted),
        (.usage, .localFile),
    ])
    func `lost output has a rank among the failures`(status: ExitStatus, expected: ExitStatus) async {
        let console = Console { _, stream in if stream == .output { throw Failure() } }
        await console.write("text", to: .output)
        #expect(await console.settle(status, wasInterrupted: status == .interrupted) == expected)
    }

    @Test func `output without a reader is no failure`() async {
        let gone = FileError(operation: "write", path: "standard output", systemError: EPIPE)
        let console = Console { _, _ in throw gone }
        await console.write("text", to: .output)
        #expect(await console.settle(.success, wasInterrupted: false) == .success)
    }

    @Test func `output that is lost by an interruption makes the command interrupted`() async {
        let console = Console { _, stream in if stream == .output { throw CancellationError() } }
        await console.write("text", to: .output)
        #expect(await console.settle(.success, wasInterrupted: true) == .interrupted)
        #expect(await console.settle(.http, wasInterrupted: true) == .http)
    }
}

@Suite(.timeLimit(.minutes(15))) struct `Limits of a process` {
    @Test func `limits that leave enough are no obstacle`() {
        #expect(ProcessLimits.needed().lack() == nil)
        #expect(ProcessLimits(threads: 1, addressSpace: 1).lack() == nil)
    }

    @Test func `a limit of address space that is too low ends in a message that names it`() throws {
        let lack = try #require(ProcessLimits(threads: 1, addressSpace: 1 << 60).lack())
        #expect(lack.contains("MiB of address space") && lack.contains("ulimit -v"))
    }

    /// Downloads a file under a limit.
    private func get(_ line: String) async throws -> ChildProcess.End {
        try await FileIO.shared.withTemporaryDirectory(prefix: "sluice-tests") { directory in
            try await LoopbackOrigin.serve { _ in
                OriginResponse(body: [1, 2, 3])
            } during: { origin in
                let arguments = ["get", "-d", directory.path, "--db", directory.appending(path: "queue.db").path]
                let ended = try await ChildProcess.sluice(line, arguments + ["/a", "/b"].map(origin.url))
                let names = try FileManager.default.contentsOfDirectory(atPath: directory.path)
                #expect(names.contains("a") == (ended.status == 0), "\(ended)")
                return ended
            }
        }
    }

    @Test func `under a limit of address space, a download succeeds or is refused at the start`() async throws {
        var statuses: Set<Int32> = []
        // Less than the first isn't enough for the program's libraries.
        for megabytes in stride(from: 200, through: 620, by: 30) {
            let ended = try await get("ulimit -v \(megabytes << 10) && exec \"$@\"")
            statuses.insert(ended.status)
            #expect(!ended.wasSignalled && [0, 1].contains(ended.status), "\(megabytes) MiB: \(ended)")
            let message = "MiB of address space, more than its limit allows. Raise the limit with ulimit -v"
            #expect(ended.error.contains(message) == (ended.status == 1), "\(megabytes) MiB: \(ended)")
        }
        #expect(statuses == [0, 1])
    }

    @Test(arguments: [
        (64, "-j 8: This process may open only 64 files. Raise the limit with ulimit -n."),
        (65, "-j 8: This process may open only 65 files. Raise the limit with ulimit -n."),
        (66, "-j 8: This process may open only 66 files. Pass -j 1, or raise the limit with ulimit -n."),
        (79, "-j 8: This process may open only 79 files. Pass -j 7, or raise the limit with ulimit -n."),
    ])
    func `on open files end in a message that names what helps`(files: Int, message: String) async throws {
        let ended = try await get("ulimit -n \(files) && exec \"$@\"")
        #expect(ended.status == ExitStatus.usage.rawValue && !ended.wasSignalled, "\(ended)")
        #expect(ended.error == "sluice: \(message) See 'sluice get --help'.\n", "\(ended)")
    }

    private static let canRaiseStack = {
        var limit = rlimit()
        #if os(Linux)
        getrlimit(__rlimit_resource_t(RLIMIT_STACK.rawValue), &limit)
        #else
        getrlimit(RLIMIT_STACK, &limit)
        #endif
        return limit.rlim_max == rlim_t.max
    }()

    @Test(
        .enabled(if: canRaiseStack, "skipped: the hard limit of the stack is too small"),
        arguments: [(1 << 40, "MiB of address space"), (1 << 50, "ulimit -s")])
    func `a stack limit that doesn't fit into the address space ends in a message`(
        kibibytes: Int, message: String
    ) async throws {
        let ended = try await get("ulimit -s \(kibibytes) && exec \"$@\"")
        #expect(ended.status == 1 && !ended.wasSignalled && ended.error.contains(message), "\(ended)")
    }

    /// Root has no limit of threads, and only root can become a user that has one.
    private static let canChangeUser =
        geteuid() == 0 && FileManager.default.isExecutableFile(atPath: "/usr/bin/setpriv")

    @Test(.enabled(if: canChangeUser, "skipped: only root with setpriv(1) can run a process as another user"))
    func `with too few threads, a download is refused at the start, and with enough it succeeds`() async throws {
        let needed = ProcessLimits.needed().threads
        // A user without other processes that count, and with access to every directory.
        let user = 61_000 + getpid() % 4_000
        let line = """
            exec setpriv --reuid \(user) --clear-groups --inh-caps +dac_override,+dac_read_search \
            --ambient-caps +dac_override,+dac_read_search prlimit --nproc=
            """
        for threads in [1, 2, 4, needed - 1, needed] {
            let ended = try await get("\(line)\(threads) \"$@\"")
            #expect(ended.status == 1 && !ended.wasSignalled, "\(threads): \(ended)")
            let message = "sluice: This process needs \(needed) threads, but its limit allows only \(threads - 1). "
            #expect(ended.error.hasPrefix(message) && ended.error.contains("ulimit -u"), "\(threads): \(ended)")
        }
        let ended = try await get("\(line)\(needed + 1) \"$@\"")
        #expect(ended.status == 0 && !ended.wasSignalled, "\(ended)")
    }
}
