import Foundation
import HTTPTypes
import LoopbackOrigin
import NativeMark
import SluiceFiles
import TestSupport
import Testing

@testable import SluiceCommands

/// One run of `sluice show` on a terminal that shows pictures, beside a server and some files.
private struct ShownPictures {
    var status: ExitStatus
    var terminal: FakeTerminal
    var output: String
    var error: String

    var pictures: [[UInt8]] { terminal.pictures.map(\.bytes) }

    /// Replaces `{origin}` and `{folder}` in the document and runs it.
    static func run(
        _ markdown: String, _ arguments: [String] = [], files: [String: [UInt8]] = [:],
        images: TerminalRenderer.ImageProtocol = .iTerm2, rows: Int = 40, isTerminal: Bool = true, in folder: URL,
        origin: LoopbackOrigin? = nil, recorded: RecordedConsole = RecordedConsole()
    ) async throws -> ShownPictures {
        for (name, bytes) in files { try await Data(bytes).asyncWrite(to: folder.appending(path: name)) }
        let filled = markdown.replacing("{origin}", with: origin?.url("") ?? "").replacing(
            "{folder}", with: folder.path)
        let document = folder.appending(path: "notes.md")
        try await Data(filled.utf8).asyncWrite(to: document)
        var console = recorded.console
        if isTerminal {
            console.outputSize = { .init(columns: 60, rows: rows) }
            console.outputImages = images
        }
        console.cacheFolder = folder.appending(path: "cache")
        // Server and command share their threads with all other tests.
        console.imageLimits.time = .seconds(600)
        console.imageLimits.connectTime = .seconds(600)
        console.imageLimits.stallTime = .seconds(600)
        let status = await SluiceProgram.run(["show", document.path] + arguments, console: console)
        var terminal = FakeTerminal(columns: 60, rows: rows)
        terminal.write(recorded.output)
        return ShownPictures(status: status, terminal: terminal, output: recorded.output, error: recorded.error)
    }
}

private func withFolder<Result: Sendable>(
    _ body: @Sendable (URL) async throws -> Result
) async throws -> Result {
    try await FileIO.shared.withTemporaryDirectory(prefix: "sluice-tests", body)
}

@Suite(.timeLimit(.minutes(15))) struct `sluice show's pictures in files` {
    @Test(arguments: [TerminalRenderer.ImageProtocol.kitty, .iTerm2])
    func `stand in the text, by relative and absolute paths`(images: TerminalRenderer.ImageProtocol) async throws {
        let (one, two) = (TestPicture.png(80, 32, rest: 9_000), TestPicture.png(16, 16))
        try await withFolder { folder in
            try await FileIO.shared.makeDirectory(at: folder.appending(path: "img"))
            let shown = try await ShownPictures.run(
                "start\n\n![one](img/a%20b.png)\n\n![two]({folder}/two.png)\n\nend",
                files: ["img/a b.png": one, "two.png": two], images: images, in: folder)
            #expect(shown.status == .success && shown.error == "")
            #expect(shown.pictures == [one, two] && shown.terminal.unknown == [])
            #expect(shown.terminal.pictures[0].columns == 10 && shown.terminal.pictures[0].rows == 2)
            #expect(!shown.terminal.text.joined().contains("one") && shown.terminal.text.contains("end"))
            // The text was there first, whole.
            #expect(shown.output.hasPrefix("start") && shown.output.contains("one") && shown.output.contains("two"))
        }
    }

    @Test func `that cannot be had leave their descriptions, and one line that says why`()
        async throws
    {
        try await withFolder { folder in
            #expect(mkfifo(folder.appending(path: "fifo").path, 0o600) == 0)
            let cases: [(source: String, mentions: [String])] = [
                ("none.png", ["none.png", "no such file", "check the path"]), ("fifo", ["fifo", "regular file"]),
                ("{folder}", ["regular file"]), ("/dev/zero", ["/dev/zero", "regular file"]),
                ("/proc/self/status", ["/proc/self/status", "is empty"]), ("empty.png", ["empty.png", "is empty"]),
                ("text.png", ["text.png", "PNG, JPEG, GIF or WebP", "convert"]),
                ("large.png", ["large.png", "16.8 MB", "smaller"]),
                ("wide.png", ["wide.png", "10000 pixels", "smaller"]),
                ("data:image/png;base64,AAAA", ["data", "http or https"]),
                ("https://example.com/%zz{\u{9B}", []), ("good.png/x", ["good.png/x", "no such file"]),
            ]
            for (source, mentions) in cases {
                let shown = try await ShownPictures.run(
                    "start\n\n![gone](\(source))\n\n![good](good.png)\n\nend",
                    files: [
                        "empty.png": [], "text.png": Array("<svg/>".utf8), "wide.png": TestPicture.png(10_001, 5),
                        "large.png": TestPicture.png(5, 5, rest: source == "large.png" ? 16 << 20 : 0),
                        "good.png": TestPicture.png(8, 16),
                    ], in: folder)
                #expect(shown.status == .success && shown.pictures == [TestPicture.png(8, 16)], "\(source)")
                #expect(shown.terminal.text.contains { $0.hasPrefix("gone") } && shown.terminal.unknown == [])
                guard !mentions.isEmpty else { continue }
                #expect(shown.error.split(separator: "\n").count == 1, "\(shown.error)")
                for mention in ["1 of 2 pictures could not be shown"] + mentions {
                    #expect(shown.error.contains(mention), "\"\(mention)\" in: \(shown.error)")
                }
            }
        }
    }

    @Test func `are named in one line however long their addresses are`() async throws {
        let long = String(repeating: "x", count: 100_000)
        try await withFolder { folder in
            for source in ["data:image/png;base64,\(long)", long, "/\(long)"] {
                let shown = try await ShownPictures.run("![one](\(source))", in: folder)
                #expect(shown.status == .success && shown.error.hasPrefix("sluice: the picture could not be shown: "))
                #expect(shown.error.utf8.count < 600 && shown.error.contains("…"), "\(shown.error.prefix(700))")
            }
        }
    }

    @Test func `that are no PNG are not for kitty's protocol`() async throws {
        try await withFolder { folder in
            let files = ["a.jpg": TestPicture.jpeg(80, 32), "b.gif": TestPicture.gif(8, 16)]
            let markdown = "![one](a.jpg)\n\n![two](b.gif)"
            let shown = try await ShownPictures.run(markdown, files: files, images: .kitty, in: folder)
            #expect(shown.status == .success && shown.pictures == [])
            #expect(shown.error.contains("2 of 2 pictures could not be shown; the first:"))
            #expect(shown.error.contains("a.jpg' is a JPEG, and this terminal shows PNG only; convert it"))
            let others = try await ShownPictures.run(markdown, files: files, images: .iTerm2, in: folder)
            #expect(others.pictures.count == 2 && others.error == "")
        }
    }

    @Test func `are as many and as large as the limits allow`() async throws {
        try await withFolder { folder in
            let picture = TestPicture.png(8, 16, rest: 1_000)
            for name in ["a", "b", "c", "d"] { try await Data(picture).asyncWrite(to: folder.appending(path: name)) }
            let sources = ["a", "b", "c", "d"].map { PictureSource($0, besides: folder.path + "/") }
            for (limits, loaded, reason) in [
                (PictureLoader.Limits(count: 2), 2, "more than 2 pictures"),
                (.init(bytes: 500), 0, "more than 500 B"), (.init(totalBytes: 3_500), 3, "more than 3.5 kB together"),
                (.init(), 4, nil),
            ] as [(PictureLoader.Limits, Int, String?)] {
                let arrivals = Recorder<PictureLoader.Arrival>()
                await PictureLoader(limits: limits, cacheFolder: nil) { arrivals.note($0) }.load(sources)
                #expect(arrivals.values.count == 4)
                let failures = arrivals.values.compactMap { arrival in
                    if case .failure(let failure) = arrival.result { failure.line } else { nil }
                }
                #expect(
                    failures.count == 4 - loaded && failures.allSatisfy { $0.contains(reason ?? "") }, "\(failures)")
            }
        }
    }

    @Test func `are not read where there is nothing that shows them`() async throws {
        let picture = ["a.png": TestPicture.png(8, 16)]
        try await withFolder { folder in
            for (arguments, isTerminal, images) in [
                ([], false, .iTerm2), ([], true, .none), (["--to", "html"], true, .iTerm2),
                (["--to", "text"], true, .kitty), (["--no-images"], true, .iTerm2),
            ] as [([String], Bool, TerminalRenderer.ImageProtocol)] {
                // A missing one would be told.
                let shown = try await ShownPictures.run(
                    "![one](a.png)\n\n![two](none.png)", arguments, files: picture, images: images,
                    isTerminal: isTerminal, in: folder)
                #expect(shown.status == .success && shown.error == "" && !shown.output.contains("\u{1B}]1337"))
                #expect(shown.output.contains("one") && shown.output.contains("two"))
            }
        }
    }

    @Test func `follow below a text that is longer than the screen, and no pager gets any`()
        async throws
    {
        try await withFolder { folder in
            let markdown = "![one](a.png)\n\n" + String(repeating: "word\n\n", count: 30)
            let picture = TestPicture.png(16, 160)
            let shown = try await ShownPictures.run(
                markdown, files: ["a.png": picture], images: .kitty, rows: 12, in: folder)
            #expect(shown.pictures == [picture] && shown.terminal.pictures[0].row > 30)
            #expect(shown.terminal.pictures[0].rows == 8 && shown.terminal.unknown == [])
            #expect(shown.terminal.text[shown.terminal.pictures[0].row - 1] == "one")

            let recorded = RecordedConsole()
            var console = recorded.console
            console.outputSize = { .init(columns: 60, rows: 12) }
            console.outputImages = .kitty
            console.pager = Pager(environment: ["PAGER": "cat > '\(folder.path)/paged'", "PATH": "/usr/bin:/bin"])
            let file = folder.appending(path: "notes.md").path
            #expect(await SluiceProgram.run(["show", file], console: console) == .success)
            #expect(recorded.output == "" && recorded.error == "")
            let paged = String(decoding: try Data(contentsOf: folder.appending(path: "paged")), as: UTF8.self)
            #expect(paged.contains("one") && !paged.contains("\u{1B}_G"))
        }
    }

    @Test func `are left out altogether on demand`() async throws {
        try await withFolder { folder in
            for (format, output) in [
                ("terminal", "one x\n"), ("text", "one x\n"), ("html", "<p>one x</p>\n"),
            ] {
                let shown = try await ShownPictures.run("![one](a.png) x", ["--no-images", "--to", format], in: folder)
                #expect(shown.status == .success && shown.output == output)
            }
            let both = try await ShownPictures.run("x", ["--no-images", "--remote-images"], in: folder)
            #expect(both.status == .usage && both.output == "")
            #expect(both.error.contains("--no-images and --remote-images exclude each other"))
        }
    }
}

@Suite(.timeLimit(.minutes(15))) struct `sluice show's pictures on servers` {
    private static let picture = TestPicture.png(80, 32, rest: 500)

    @Test func `are asked for by nobody without the flag, or without a terminal that shows them`() async throws {
        try await withFolder { folder in
            try await LoopbackOrigin.serve { _ in
                OriginResponse(body: Self.picture)
            } during: { origin in
                for (arguments, images, isTerminal) in [
                    ([], .kitty, true), (["--remote-images"], .none, true), (["--remote-images"], .kitty, false),
                    (["--remote-images", "--to", "html"], .kitty, true), (["--no-images"], .kitty, true),
                    (["--remote-images", "--to", "text"], .kitty, true),
                ] as [([String], TerminalRenderer.ImageProtocol, Bool)] {
                    let shown = try await ShownPictures.run(
                        "![one]({origin}/a.png)", arguments, images: images, isTerminal: isTerminal, in: folder,
                        origin: origin)
                    #expect(shown.status == .success && shown.error == "" && shown.output.contains("one"))
                    #expect(!shown.output.contains("\u{1B}_G"))
                }
                #expect(origin.metrics.connections == 0)
            }
        }
    }

    @Test func `come after the text, which waits for none of them, and files wait for none either`() async throws {
        let gate = Gate()
        let recorded = RecordedConsole()
        try await withFolder { folder in
            try await LoopbackOrigin.serve { _ in
                await gate.pass()
                return OriginResponse(body: Self.picture)
            } during: { origin in
                async let run = ShownPictures.run(
                    "start\n\n![remote]({origin}/a.png)\n\n![local](b.png)\n\nend", ["--remote-images"],
                    files: ["b.png": TestPicture.gif(8, 16)], in: folder, origin: origin, recorded: recorded)
                // The server has been asked, and answers nothing.
                await gate.arrivals(1)
                #expect(recorded.output.hasPrefix("start\nremote") || recorded.output.hasPrefix("start\n\nremote"))
                // A picture is written in pieces, and then the text below it again.
                try await recorded.output(where: { output in
                    var terminal = FakeTerminal(columns: 60, rows: 40)
                    terminal.write(output)
                    return terminal.pictures.map(\.bytes) == [TestPicture.gif(8, 16)]
                        && terminal.text.contains { $0.hasPrefix("remote") } && terminal.text.contains("end")
                })

                await gate.open()
                let shown = try await run
                #expect(shown.status == .success && shown.error == "")
                #expect(shown.pictures == [Self.picture, TestPicture.gif(8, 16)] && shown.terminal.unknown == [])
            }
        }
    }

    @Test func `come from the disk the second time`() async throws {
        try await withFolder { folder in
            try await LoopbackOrigin.serve { _ in
                OriginResponse(headerFields: [.cacheControl: "max-age=3600"], body: Self.picture)
            } during: { origin in
                for _ in 1...2 {
                    let shown = try await ShownPictures.run(
                        "![one]({origin}/a.png)\n\n![again]({origin}/a.png)", ["--remote-images"], in: folder,
                        origin: origin)
                    #expect(shown.pictures == [Self.picture, Self.picture] && shown.error == "")
                }
                #expect(origin.metrics.requests == 1)
            }
        }
    }

    @Test(arguments: [
        ("404", ["404", "Check the URL"]), ("large", ["16.8 MB", "smaller"]), ("endless", ["16.8 MB", "smaller"]),
        ("short", ["before the response was complete"]), ("page", ["PNG, JPEG, GIF or WebP"]),
        ("file", ["its target is no http or https URL"]), ("loop", ["too many redirects"]),
        ("gzip", ["coded body (gzip)"]),
    ])
    func `that cannot be had leave their descriptions, and one line that says why`(path: String, mentions: [String])
        async throws
    {
        try await withFolder { folder in
            try await LoopbackOrigin.serve { request in
                switch request.target {
                case "/404": OriginResponse(status: 404)
                case "/large": OriginResponse(announcedLength: 17 << 20, steps: [.stall])
                case "/endless":
                    OriginResponse(
                        announcedLength: nil,
                        steps: Array(repeating: .send([UInt8](repeating: 0, count: 1 << 20)), count: 18))
                case "/short": OriginResponse(announcedLength: 10_000, steps: [.send(Self.picture), .hangUp])
                case "/page": OriginResponse(body: Array("<html>".utf8))
                case "/file": .redirect(to: "file:///etc/passwd")
                case "/loop": .redirect(to: "/loop")
                case "/gzip": OriginResponse(headerFields: [.contentEncoding: "gzip"], body: Self.picture)
                default: OriginResponse(body: Self.picture)
                }
            } during: { origin in
                let shown = try await ShownPictures.run(
                    "![gone]({origin}/\(path))\n\n![good]({origin}/good)", ["--remote-images"], in: folder,
                    origin: origin)
                #expect(shown.status == .success && shown.pictures == [Self.picture])
                #expect(shown.terminal.text.contains { $0.hasPrefix("gone") })
                #expect(shown.error.split(separator: "\n").count == 1)
                for mention in ["1 of 2 pictures", origin.url("/\(path)")] + mentions {
                    #expect(shown.error.contains(mention), "\"\(mention)\" in: \(shown.error)")
                }
            }
        }
    }

    @Test func `are followed to another host, without what was meant for the first`() async throws {
        try await withFolder { folder in
            try await LoopbackOrigin.serve { _ in
                OriginResponse(body: Self.picture)
            } during: { other in
                try await LoopbackOrigin.serve { _ in
                    .redirect(to: other.url("/b.png"))
                } during: { origin in
                    let shown = try await ShownPictures.run(
                        "![one]({origin}/a.png)", ["--remote-images"], in: folder, origin: origin)
                    #expect(shown.pictures == [Self.picture] && other.metrics.requests == 1)
                }
            }
        }
    }

    @Test func `are waited for no longer than the limit`() async throws {
        let arrivals = Recorder<PictureLoader.Arrival>()
        try await withFolder { folder in
            try await LoopbackOrigin.serve { _ in
                OriginResponse(announcedLength: 100, steps: [.stall])
            } during: { origin in
                let loader = PictureLoader(limits: .init(time: .milliseconds(1)), cacheFolder: folder) {
                    arrivals.note($0)
                }
                await loader.load([PictureSource(origin.url("/a.png?secret"), besides: "-")])
                guard case .failure(let failure) = arrivals.values.first?.result else {
                    Issue.record("nothing has failed")
                    return
                }
                #expect(failure.line == "\(origin.url("/a.png?…")) was not there after 0 s; try again later")
            }
        }
    }

    @Test func `have a reason where nothing can be kept`() async throws {
        for folder in [nil, URL(filePath: "/proc/none")] {
            let arrivals = Recorder<PictureLoader.Arrival>()
            let loader = PictureLoader(cacheFolder: folder) { arrivals.note($0) }
            await loader.load([PictureSource("http://127.0.0.1:1/a.png", besides: "-")])
            #expect(arrivals.values.count == 1)
            guard case .failure(let failure) = arrivals.values.first?.result else {
                Issue.record("the picture has arrived")
                continue
            }
            #expect(failure.line.contains("127.0.0.1:1/a.png"))
            #expect(failure.line.contains(folder == nil ? "XDG_CACHE_HOME" : "/proc/none"), "\(failure.line)")
        }
    }

    @Test func `are at most six at a time`() async throws {
        let gate = Gate()
        try await withFolder { folder in
            try await LoopbackOrigin.serve { _ in
                await gate.pass()
                return OriginResponse(body: Self.picture)
            } during: { origin in
                let markdown = (0..<20).map { "![\($0)]({origin}/\($0).png)" }.joined(separator: "\n\n")
                async let run = ShownPictures.run(markdown, ["--remote-images"], rows: 200, in: folder, origin: origin)
                await gate.arrivals(6)
                #expect(origin.metrics.requests == 6)
                await gate.open()
                let shown = try await run
                #expect(shown.pictures.count == 20)
                #expect(origin.metrics.peak <= 6)
            }
        }
    }
}
