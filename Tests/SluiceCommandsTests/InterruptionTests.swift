import Foundation
import HTTPTypes
import LoopbackOrigin
import SluiceFiles
import TestSupport
import Testing

@testable import SluiceCommands

@Suite(.timeLimit(.minutes(15))) struct `Interrupting a command` {
    @Test(arguments: [true, false])
    func `the same command continues where it was stopped, even within files`(hasDatabase: Bool) async throws {
        let content = (0..<900_000).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }
        let reached = Gate()
        let stalls = Guarded(true)
        let ranges = Recorder<String>()
        try await FileIO.shared.withTemporaryDirectory(prefix: "sluice-tests") { directory in
            try await LoopbackOrigin.serve { request in
                ranges.note("\(request.target) \(request.headerFields[.range] ?? "whole")")
                guard request.target != "/first", stalls.withLock({ $0 }) else {
                    return .file(content, etag: "\"v1\"", request: request)
                }
                var response = OriginResponse.file(content, etag: "\"v1\"", request: request, sending: 600_000)
                response.steps.insert(.perform { Task { await reached.pass() } }, at: 1)
                return response
            } during: { origin in
                let files = directory.appending(path: "files")
                try FileManager.default.createDirectory(at: files, withIntermediateDirectories: false)
                var arguments = ["get", "-q", "-j", "1", "-d", files.path]
                if hasDatabase { arguments += ["--db", directory.appending(path: "queue.db").path] }
                arguments += ["/first", "/second", "/third"].map(origin.url)

                let changes = try await FileIO.shared.changes(of: files, kinds: .modified)
                let first = try Self.start(arguments)
                await reached.arrivals(1)
                // The sent bytes have arrived once the partial file is modified.
                for try await change in changes where change.name == "second.sluice.part" { break }
                first.signal(SIGINT)
                #expect(await first.end().status == 7)
                let kept = try Self.size(of: files.appending(path: "second.sluice.part"))
                #expect(kept > 0)

                stalls.withLock { $0 = false }
                let second = try Self.start(arguments)
                #expect(await second.end().status == 0)
                // Once more: there is nothing to do.
                let third = try Self.start(arguments)
                #expect(await third.end().status == 0)
                #expect(ranges.values == ["/first whole", "/second whole", "/second bytes=\(kept)-", "/third whole"])
                #expect(
                    try FileManager.default.contentsOfDirectory(atPath: files.path).sorted()
                        == ["first", "second", "third"])
                for name in ["first", "second", "third"] {
                    let data = try Data(contentsOf: files.appending(path: name))
                    #expect(data.elementsEqual(content))
                }
            }
        }
        await reached.open()
    }

    private static func size(of file: URL) throws -> Int {
        let attributes = try? FileManager.default.attributesOfItem(atPath: file.path)
        return (attributes?[.size] as? NSNumber)?.intValue ?? 0
    }

    private static func start(_ arguments: [String]) throws -> ChildProcess {
        try ChildProcess(builtProgram("sluice"), arguments)
    }

    @Test(arguments: [SIGINT, SIGTERM])
    func `an interrupted process reports it, exits with 7 and leaves only whole files`(signal: Int32) async throws {
        let stalled = Gate()
        try await FileIO.shared.withTemporaryDirectory(prefix: "sluice-tests") { directory in
            try await LoopbackOrigin.serve { request in
                guard request.target != "/whole" else { return OriginResponse(body: [1, 2, 3]) }
                Task { await stalled.pass() }
                return OriginResponse(
                    announcedLength: 900_000, steps: [.send(Array(repeating: 1, count: 400_000)), .stall])
            } during: { origin in
                let process = try Self.start(
                    ["get", "-j", "1", "-d", directory.path] + ["/whole", "/a", "/b"].map(origin.url))
                await stalled.arrivals(1)
                process.signal(signal)
                let ended = await process.end()
                #expect(!ended.wasSignalled && ended.status == 7, "\(ended)")
                #expect(ended.error.contains("1 of 3 files are complete. Run the same command to"))
                #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path) == ["whole"])
            }
        }
        await stalled.open()
    }
}

@Suite(.timeLimit(.minutes(15))) struct `Signals to the program` {
    @Test(arguments: [SIGINT, SIGTERM, SIGHUP])
    func `a signal before the downloads start ends the program like a later one`(signal: Int32) async throws {
        try await FileIO.shared.withTemporaryDirectory(prefix: "sluice-tests") { directory in
            // Given a list that never ends
            let list = directory.appending(path: "list")
            #expect(mkfifo(list.path, 0o600) == 0)
            let arguments = ["get", "-d", directory.appending(path: "files").path, "-i", list.path]
            let ended = try await ChildProcess.sluice(arguments) { process in
                // When the program has opened it
                let writer = await offPool { open(list.path, O_WRONLY) }
                process.signal(signal)
                // The FIFO stays open until the program's end, because closing it would end the list.
                await process.exit()
                close(writer)
            }
            // Then
            #expect(ended.status == 7 && !ended.wasSignalled, "\(ended)")
            #expect(ended.error == "sluice: Interrupted.\n" && ended.output == "")
            #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path) == ["list"])
        }
    }

    @Test(arguments: [SIGINT, SIGTERM, SIGHUP])
    func `a signal stops the downloads, shows the cursor and keeps what arrived`(signal: Int32) async throws {
        let ended = try await signalled(signal, whileDrawing: "status 7\n")
        #expect(ended.names.sorted() == ["a.sluice.json", "a.sluice.part"])
        #expect(ended.output.contains("Stopping. Press Ctrl-C again to stop immediately."))
        #expect(ended.output.contains("Interrupted: 0 of 1 files are complete"))
    }

    @Test func `SIGQUIT shows the cursor and ends the program by the signal`() async throws {
        let ended = try await signalled(SIGQUIT, whileDrawing: "status \(128 + SIGQUIT)\n")
        #expect(ended.error.hasSuffix("status \(128 + SIGQUIT)\n"))
    }

    @Test func `suspending the program shows the cursor, and continuing hides it`() async throws {
        let terminal = try PseudoTerminal(columns: 80, rows: 24, cell: (10, 20))
        try await FileIO.shared.withTemporaryDirectory(prefix: "sluice-tests") { directory in
            try await LoopbackOrigin.serve { request in
                .file([UInt8](repeating: 1, count: 1_000_000), etag: "\"v1\"", request: request, sending: 300_000)
            } during: { origin in
                let arguments = ["get", "--timeout", "60", "--retries", "0", "-d", directory.path, origin.url("/a")]
                let ended = try await terminal.run(
                    URL(filePath: "/bin/sh"),
                    ["-c", #"exec "$@" 2>&1"#, "sh", try builtProgram("sluice").path] + arguments,
                    environment: ["TERM": "xterm", "PATH": "/usr/bin:/bin"]
                ) { process in
                    try? await terminal.output(containing: "300.0 kB")
                    kill(process, SIGTSTP)
                    // If the process didn't stop, it would end by its time limit.
                    let wasStopped = await offPool {
                        var information = siginfo_t()
                        waitid(P_PID, id_t(process), &information, WSTOPPED | WEXITED | WNOWAIT)
                        return information.si_code == Int32(CLD_STOPPED)
                    }
                    #expect(wasStopped)
                    kill(process, SIGTERM)
                    kill(process, SIGCONT)
                }
                #expect(ended.status == 7, "\(ended)")
                let cursor = terminal.output.components(separatedBy: "\u{1B}[?25").dropFirst().map { $0.prefix(1) }
                #expect(cursor == ["l", "h", "l", "h"])
            }
        }
    }

    /// Sends a signal to a program that draws bars on a terminal.
    private func signalled(
        _ signal: Int32, whileDrawing status: String
    ) async throws -> (output: String, error: String, names: [String]) {
        let terminal = try PseudoTerminal(columns: 80, rows: 24, cell: (10, 20))
        return try await FileIO.shared.withTemporaryDirectory(prefix: "sluice-tests") { directory in
            try await LoopbackOrigin.serve { request in
                .file([UInt8](repeating: 1, count: 1_000_000), etag: "\"v1\"", request: request, sending: 300_000)
            } during: { origin in
                // The shell is in the process group that gets the signal, as from a terminal, and reports how the program ended.
                let line = #"trap : INT TERM HUP QUIT; ulimit -c 0; "$@" 2>&1; echo "status $?" >&2"#
                let ended = try await terminal.run(
                    URL(filePath: "/bin/sh"),
                    ["-c", line, "sh", try builtProgram("sluice").path, "get", "-d", directory.path, origin.url("/a")],
                    environment: ["TERM": "xterm", "PATH": "/usr/bin:/bin"]
                ) { process in
                    // The bar shows what arrived.
                    try? await terminal.output(containing: "300.0 kB")
                    kill(-process, signal)
                }
                #expect(ended.error.hasSuffix(status), "\(ended)")
                #expect(terminal.output.contains(TerminalSequence.hideCursor))
                let last = terminal.output.components(separatedBy: "\u{1B}[?25").last
                #expect(last?.hasPrefix("h") == true, "the cursor is hidden: \(terminal.output)")
                return (
                    terminal.output, ended.error,
                    try FileManager.default.contentsOfDirectory(atPath: directory.path).sorted()
                )
            }
        }
    }
}

@Suite struct `A request to stop` {
    @Test func `a request that comes before the work cancels it`() async {
        let interruption = Interruption(endProcess: {})
        interruption.request()
        let (wasCancelled, wasInterrupted) = await interruption.guarding { Task.isCancelled }
        #expect(wasCancelled && wasInterrupted)
    }

    @Test(arguments: [
        ["get", "-d", "{dir}", "{origin}/a"], ["get", "--db", "{dir}/q", "-d", "{dir}", "{origin}/a"],
    ])
    func `a request before anything started leaves nothing behind`(arguments: [String]) async throws {
        try await FileIO.shared.withTemporaryDirectory(prefix: "sluice-tests") { directory in
            try await LoopbackOrigin.serve { _ in
                OriginResponse(body: [1])
            } during: { origin in
                let recorded = RecordedConsole()
                let console = recorded.console
                let filled = arguments.map {
                    $0.replacing("{dir}", with: directory.path).replacing("{origin}", with: origin.url(""))
                }
                // When
                console.interruption.request()
                let status = await SluiceProgram.run(filled, console: console)
                // Then
                #expect(status == .interrupted)
                #expect(recorded.error == "sluice: Interrupted before anything was downloaded.\n")
                let names = try FileManager.default.contentsOfDirectory(atPath: directory.path)
                #expect(names.allSatisfy { $0.hasPrefix("q") }, "\(names)")
            }
        }
    }

    /// The work may begin on another thread before the call that starts it continues.
    @Test func `a request by the work itself cancels it before the request returns`() async {
        var cancelledCount = 0
        for _ in 0..<2000 {
            let interruption = Interruption(endProcess: {})
            let (wasCancelled, _) = await interruption.guarding {
                interruption.request()
                return Task.isCancelled
            }
            if wasCancelled { cancelledCount += 1 }
        }
        #expect(cancelledCount == 2000)
    }

    @Test func `a request reaches each part of the command, the latest first, and the second ends the process`() async {
        // Given
        let said = Recorder<String>()
        let interruption = Interruption(endProcess: { said.note("end") })
        @Sendable func responses(_ name: String) -> Interruption.Responses {
            .init(
                stopping: { said.note("\(name) stops") }, leaveTerminal: { said.note("\(name) leaves") },
                returnToTerminal: { said.note("\(name) returns") })
        }
        let (_, wasInterrupted) = await interruption.guarding {
            await interruption.responding(responses("outer")) {
                await interruption.responding(responses("inner")) {
                    // When
                    interruption.request()
                    said.note(Task.isCancelled ? "cancelled" : "not cancelled")
                    interruption.request()
                    interruption.returnToTerminal()
                }
                interruption.leaveTerminal()
            }
            interruption.leaveTerminal()
        }
        // Then
        #expect(
            said.values == [
                "inner stops", "outer stops", "cancelled", "inner leaves", "outer leaves", "end", "outer returns",
                "inner returns", "outer leaves",
            ])
        #expect(wasInterrupted)
    }

    @Test func `an interruption by the keyboard goes to the pager while it runs`() async {
        let interruption = Interruption(endProcess: {})
        await interruption.yieldingKeyboard { interruption.request(isKeyboard: true) }
        #expect(!interruption.isRequested)
        await interruption.yieldingKeyboard { interruption.request() }
        #expect(interruption.isRequested)
    }
}
