import Foundation
import HTTPTypes
import LoopbackOrigin
import SluiceConcurrency
import SluiceFiles
import TestSupport
import Testing

@testable import SluiceCommands

@Suite(.timeLimit(.minutes(15))) struct `Workers of a queue` {
    private static let content = (0..<900_000).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }

    private static func start(_ arguments: [String]) throws -> ChildProcess {
        try ChildProcess(builtProgram("sluice"), arguments)
    }

    @Test(arguments: QueueScene.Place.usable, [SIGKILL, SIGINT])
    func `another worker continues what a stopped worker began`(place: QueueScene.Place, signal: Int32) async throws {
        let (reached, stalls) = (Gate(), Guarded(true))
        let ranges = Recorder<Bool>()
        try await QueueScene.run(on: place) { request in
            ranges.note(request.headerFields[.range] != nil)
            guard stalls.withLock({ $0 }) else { return .file(Self.content, etag: "\"v1\"", request: request) }
            var response = OriginResponse.file(Self.content, etag: "\"v1\"", request: request, sending: 600_000)
            response.steps.insert(.perform { Task { await reached.pass() } }, at: 1)
            return response
        } during: { scene in
            await scene.add(["/song"], "--user", "ann")
            try FileManager.default.createDirectory(at: scene.files, withIntermediateDirectories: true)
            let changes = try await FileIO.shared.changes(of: scene.files, kinds: .modified)
            // Given a worker that has a part of the file
            let first = try Self.start(["queue", "work", "--db", scene.database, "-q"])
            await reached.arrivals(1)
            for try await change in changes where change.name == "song.sluice.part" { break }
            let running = try await scene.listing().running
            #expect(running.map(\.name) == ["song"] && running.first?.totalBytes == 900_000)
            #expect((running.first?.receivedBytes ?? 0) > 0)
            // When
            first.signal(signal)
            let ended = await first.end()
            // Then
            #expect(ended.status == (signal == SIGKILL ? SIGKILL : 7))
            stalls.withLock { $0 = false }
            let second = try Self.start(["queue", "work", "--db", scene.database, "-q", "--until-empty"])
            #expect(await second.end().status == 0)
            #expect(scene.names == ["song"])
            #expect(try Data(contentsOf: scene.files.appending(path: "song")).elementsEqual(Self.content))
            #expect(ranges.values == [false, true])
            let listing = try await scene.listing()
            #expect(listing.counts["done"] == 1)
        }
        await reached.open()
    }

    @Test(arguments: QueueScene.Place.usable)
    func `cancelling and pausing stop downloads in another process`(place: QueueScene.Place) async throws {
        let reached = Gate()
        try await QueueScene.run(on: place) { request in
            var response = OriginResponse.file(Self.content, etag: "\"v1\"", request: request, sending: 600_000)
            response.steps.insert(.perform { Task { await reached.pass() } }, at: 1)
            return response
        } during: { scene in
            await scene.add(["/a", "/b"])
            let worker = try Self.start(["queue", "work", "--db", scene.database, "-q"])
            await reached.arrivals(2)
            #expect(await scene.queue("pause", "1").output == "Paused 1 download.\n")
            #expect(await scene.queue("cancel", "2").output == "Cancelled 1 download.\n")
            // Both have stopped when the commands return.
            let listing = try await scene.listing()
            #expect(listing.running.isEmpty && listing.paused.map(\.id) == [1] && listing.ended.map(\.id) == [2])
            #expect(!scene.names.contains { $0.hasPrefix("b") }, "\(scene.names)")
            worker.signal(SIGTERM)
            #expect(await worker.end().status == 7)
        }
        await reached.open()
    }

    @Test func `a killed worker's download is cancelled without waiting for its lease`() async throws {
        let reached = Gate()
        try await QueueScene.run { request in
            var response = OriginResponse.file(Self.content, etag: "\"v1\"", request: request, sending: 600_000)
            response.steps.insert(.perform { Task { await reached.pass() } }, at: 1)
            return response
        } during: { scene in
            await scene.add(["/a"])
            let worker = try Self.start(["queue", "work", "--db", scene.database, "-q"])
            await reached.arrivals(1)
            worker.signal(SIGKILL)
            await worker.end()
            let ended = await scene.queue("cancel", "--all", "--json")
            #expect(ended.output == #"{"changed":1,"continuing":0,"running":0,"unknown":[]}"# + "\n")
            #expect(scene.names == [])
        }
        await reached.open()
    }

    @Test(arguments: QueueScene.Place.usable)
    func `two processes share the limit`(place: QueueScene.Place) async throws {
        let open = Monitor((now: 0, most: 0))
        try await QueueScene.run(on: place) { _ in
            open.withState { state in
                state.now += 1
                state.most = max(state.most, state.now)
            }
            var response = OriginResponse(body: Scenario.body, delay: .milliseconds(20))
            response.steps.append(.perform { open.withState { $0.now -= 1 } })
            return response
        } during: { scene in
            await scene.add((0..<30).map { "/\($0)" }, "--user", "ann")
            let arguments = ["queue", "work", "--db", scene.database, "-q", "--per-user", "1", "--until-empty"]
            let workers = [try Self.start(arguments), try Self.start(arguments)]
            for worker in workers {
                #expect(await worker.end().status == 0)
            }
            #expect(scene.names.count == 30)
            #expect(open.state.most == 1)
        }
    }

    @Test func `an interrupted worker reports what it leaves, and draws the queue on a terminal`() async throws {
        let reached = Gate()
        let terminal = try PseudoTerminal(columns: 80, rows: 24, cell: (10, 20))
        try await QueueScene.run { request in
            .file(Self.content, etag: "\"v1\"", request: request, sending: 300_000)
        } during: { scene in
            await scene.add(["/a", "/b", "/c"])
            let line = [#"exec "$@" 2>&1"#, "sh", try builtProgram("sluice").path]
            let ended = try await terminal.run(
                URL(filePath: "/bin/sh"), ["-c"] + line + ["queue", "work", "--db", scene.database, "-j", "2"],
                environment: ["TERM": "xterm", "PATH": "/usr/bin:/bin"]
            ) { process in
                try? await terminal.output(containing: "300.0 kB")
                try? await terminal.output(containing: "Queue  2 running, 1 waiting")
                kill(process, SIGTERM)
            }
            #expect(ended.status == 7)
            #expect(terminal.output.contains("sluice: Interrupted: 2 downloads wait again, for any worker"))
            #expect(terminal.output.components(separatedBy: "\u{1B}[?25").last?.hasPrefix("h") == true)
        }
        await reached.open()
    }

    @Test func `a worker's JSON lines name downloads by number and file`() async throws {
        struct Line: Decodable { var event: String; var id: Int64?; var file: String?; var done: Int?; var index: Int? }
        try await QueueScene.run { scene in
            await scene.add(["/a", "/b"])
            let worked = await scene.queue("work", "--until-empty", "--progress", "json")
            let lines = try worked.output.split(separator: "\n").map {
                try JSONDecoder().decode(Line.self, from: Data($0.utf8))
            }
            let done = lines.filter { $0.event == "done" }.sorted { $0.id! < $1.id! }
            #expect(done.map(\.id) == [1, 2] && done.map(\.file) == ["a", "b"] && done.allSatisfy { $0.index == nil })
            #expect(lines.last?.event == "summary" && lines.last?.done == 2)
        }
    }

    @Test func `a verbose worker shows the heads, and the progress as lines`() async throws {
        try await QueueScene.run { scene in
            await scene.add(["/a"])
            let worked = await scene.queue("work", "--until-empty", "-v")
            #expect(worked.status == .success && worked.output.isEmpty)
            #expect(worked.error.contains(" #1 > GET http://127.0.0.1:") && worked.error.contains(" #1 < 200"))
            #expect(worked.error.contains("\na  ") || worked.error.hasPrefix("a  "))
        }
    }

    #if os(Linux)
    @Test func `a list of any length is added in bounded memory`() async throws {
        try await QueueScene.run { scene in
            // Given 2,000 short URLs, and 20,000 with a length of 1,500 bytes: 30 MB
            let padding = String(repeating: "x", count: 1500)
            let peaks = try await [(2_000, ""), (20_000, padding)].asyncMap { count, padding in
                let list = scene.directory.appending(path: "list")
                let text = (0..<count).map { "http://a.example/\(count)-\($0)?\(padding)\n" }.joined()
                try Data(text.utf8).write(to: list)
                return try await Self.peakMemory(adding: list, scene)
            }
            // Then
            #expect(peaks[1] - peaks[0] < 15_000, "KiB: \(peaks)")
        }
    }

    /// Returns the largest resident size of `sluice queue add`, in KiB, when it writes its result.
    private static func peakMemory(adding list: URL, _ scene: QueueScene) async throws -> Int {
        let pipe = scene.directory.appending(path: "pipe")
        defer { unlink(pipe.path) }
        #expect(mkfifo(pipe.path, 0o600) == 0)
        let peak = Guarded(0)
        let ended = try await ChildProcess.sluice(
            "exec \"$@\" >'\(pipe.path)'",
            ["queue", "add", "--db", scene.database, "-d", scene.files.path, "-i", list.path, "--json"]
        ) { process in
            let found = await offPool {
                let reading = open(pipe.path, O_RDONLY)
                defer { close(reading) }
                // The pipe holds one page, which is less than the result, so the program waits: F_SETPIPE_SZ of fcntl(2).
                _ = fcntl(reading, 1031, 4096)
                var waited = pollfd(fd: reading, events: Int16(POLLIN), revents: 0)
                _ = poll(&waited, 1, -1)
                let status =
                    (try? String(contentsOfFile: "/proc/\(process.pid)/status", encoding: .utf8)) ?? ""
                var buffer = [UInt8](repeating: 0, count: 65536)
                while read(reading, &buffer, buffer.count) > 0 {}
                let line = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") } ?? ""
                return Int(line.split(separator: " ").dropLast().last ?? "") ?? 0
            }
            peak.withLock { $0 = found }
        }
        #expect(ended.status == 0, "\(ended.error.prefix(300))")
        return peak.withLock { $0 }
    }
    #endif
}

extension Array {
    fileprivate func asyncMap<Result>(_ transform: (Element) async throws -> Result) async rethrows -> [Result] {
        var results: [Result] = []
        for element in self { results.append(try await transform(element)) }
        return results
    }
}
