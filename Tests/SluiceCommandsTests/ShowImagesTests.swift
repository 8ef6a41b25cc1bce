import Foundation
import HTTPTypes
import LoopbackOrigin
import NativeMark
import SluiceFiles
import TestSupport
import Testing

@testable import SluiceCommands

/// One run of `sluice show` on a terminal that shows images, with a server and some files.
private struct ShownImages {
    var status: ExitStatus
    var terminal: FakeTerminal
    var output: String
    var error: String

    var loadedImages: [[UInt8]] { terminal.loadedImages.map(\.bytes) }

    /// Replaces `{origin}` and `{dir}` in the document and runs it.
    static func run(
        _ markdown: String, _ arguments: [String] = [], files: [String: [UInt8]] = [:],
        images: TerminalRenderer.ImageProtocol = .iTerm2, rows: Int = 40, isTerminal: Bool = true, in directory: URL,
        origin: LoopbackOrigin? = nil, recorded: RecordedConsole = RecordedConsole()
    ) async throws -> ShownImages {
        for (name, bytes) in files { try await Data(bytes).asyncWrite(to: directory.appending(path: name)) }
        let filled = markdown.replacing("{origin}", with: origin?.url("") ?? "").replacing(
            "{dir}", with: directory.path)
        let document = directory.appending(path: "notes.md")
        try await Data(filled.utf8).asyncWrite(to: document)
        var console = recorded.console
        if isTerminal {
            console.outputSize = { .init(columns: 60, rows: rows) }
            console.outputImages = images
        }
        console.cacheDirectory = directory.appending(path: "cache")
        // Server and command share their threads with all other tests.
        console.imageLimits.time = .seconds(600)
        console.imageLimits.connectTime = .seconds(600)
        console.imageLimits.stallTime = .seconds(600)
        let status = await SluiceProgram.run(["show", document.path] + arguments, console: console)
        var terminal = FakeTerminal(columns: 60, rows: rows)
        terminal.write(recorded.output)
        return ShownImages(status: status, terminal: terminal, output: recorded.output, error: recorded.error)
    }
}

private func withDirectory<Result: Sendable>(
    _ body: @Sendable (URL) async throws -> Result
) async throws -> Result {
    try await FileIO.shared.withTemporaryDirectory(prefix: "sluice-tests", body)
}

@Suite(.timeLimit(.minutes(15))) struct `sluice show's images in files` {
    @Test(arguments: [TerminalRenderer.ImageProtocol.kitty, .iTerm2])
    func `images are shown in the text, by relative and absolute paths`(images: TerminalRenderer.ImageProtocol)
        async throws
    {
        let (one, two) = (TestImage.png(80, 32, rest: 9_000), TestImage.png(16, 16))
        try await withDirectory { directory in
            try await FileIO.shared.createDirectory(at: directory.appending(path: "img"))
            let shown = try await ShownImages.run(
                "start\n\n![one](img/a%20b.png)\n\n![two]({dir}/two.png)\n\nend",
                files: ["img/a b.png": one, "two.png": two], images: images, in: directory)
            #expect(shown.status == .success && shown.error == "")
            #expect(shown.loadedImages == [one, two] && shown.terminal.unknown == [])
            #expect(shown.terminal.loadedImages[0].columns == 10 && shown.terminal.loadedImages[0].rows == 2)
            #expect(!shown.terminal.text.joined().contains("one") && shown.terminal.text.contains("end"))
            // The whole text came first.
            #expect(shown.output.hasPrefix("start") && shown.output.contains("one") && shown.output.contains("two"))
        }
    }

    @Test func `images that can't be loaded leave their descriptions, and one line says why`() async throws {
        try await withDirectory { directory in
            #expect(mkfifo(directory.appending(path: "fifo").path, 0o600) == 0)
            let cases: [(source: String, mentions: [String])] = [
                ("none.png", ["none.png", "doesn't exist", "Check the path"]), ("fifo", ["fifo", "regular file"]),
                ("{dir}", ["regular file"]), ("/dev/zero", ["/dev/zero", "regular file"]),
                ("/proc/self/status", ["/proc/self/status", "is empty"]), ("empty.png", ["empty.png", "is empty"]),
                ("text.png", ["text.png", "PNG, JPEG, GIF or WebP", "Convert"]),
                ("large.png", ["large.png", "16.8 MB", "smaller"]),
                ("wide.png", ["wide.png", "10000 pixels", "smaller"]),
                ("data:image/png;base64,AAAA", ["data", "http or https"]),
                ("https://example.com/%zz{\u{9B}", []), ("good.png/x", ["good.png/x", "doesn't exist"]),
            ]
            for (source, mentions) in cases {
                let shown = try await ShownImages.run(
                    "start\n\n![gone](\(source))\n\n![good](good.png)\n\nend",
                    files: [
                        "empty.png": [], "text.png": Array("<svg/>".utf8), "wide.png": TestImage.png(10_001, 5),
                        "large.png": TestImage.png(5, 5, rest: source == "large.png" ? 16 << 20 : 0),
                        "good.png": TestImage.png(8, 16),
                    ], in: directory)
                #expect(shown.status == .success && shown.loadedImages == [TestImage.png(8, 16)], "\(source)")
                #expect(shown.terminal.text.contains { $0.hasPrefix("gone") } && shown.terminal.unknown == [])
                guard !mentions.isEmpty else { continue }
                #expect(shown.error.split(separator: "\n").count == 1, "\(shown.error)")
                for mention in ["1 of 2 images couldn't be shown"] + mentions {
                    #expect(shown.error.contains(mention), "\"\(mention)\" in: \(shown.error)")
                }
            }
        }
    }

    @Test func `an image is named in one line, however long its address is`() async throws {
        let long = String(repeating: "x", count: 100_000)
        try await withDirectory { directory in
            for source in ["data:image/png;base64,\(long)", long, "/\(long)"] {
                let shown = try await ShownImages.run("![one](\(source))", in: directory)
                #expect(shown.status == .success && shown.error.hasPrefix("sluice: The image couldn't be shown: "))
                #expect(shown.error.utf8.count < 600 && shown.error.contains("…"), "\(shown.error.prefix(700))")
            }
        }
    }

    @Test func `images other than PNG aren't sent by kitty's protocol`() async throws {
        try await withDirectory { directory in
            let files = ["a.jpg": TestImage.jpeg(80, 32), "b.gif": TestImage.gif(8, 16)]
            let markdown = "![one](a.jpg)\n\n![two](b.gif)"
            let shown = try await ShownImages.run(markdown, files: files, images: .kitty, in: directory)
            #expect(shown.status == .success && shown.loadedImages == [])
            #expect(shown.error.contains("2 of 2 images couldn't be shown. The first:"))
            #expect(
                shown.error.hasSuffix(
                    "a.jpg' is a JPEG image, but this terminal shows only PNG. Convert it with 'magick a.jpg a.png', or open it in another program.\n"
                ), "\(shown.error)")
            let others = try await ShownImages.run(markdown, files: files, images: .iTerm2, in: directory)
            #expect(others.loadedImages.count == 2 && others.error == "")
        }
    }

    @Test func `images are loaded up to the limits of number and size`() async throws {
        try await withDirectory { directory in
            let loadedImage = TestImage.png(8, 16, rest: 1_000)
            for name in ["a", "b", "c", "d"] {
                try await Data(loadedImage).asyncWrite(to: directory.appending(path: name))
            }
            let sources = ["a", "b", "c", "d"].map { ImageSource($0, besides: directory.path + "/") }
            for (limits, loaded, reason) in [
                (ImageLoader.Limits(count: 2), 2, "more than 2 images"),
                (.init(bytes: 500), 0, "larger than 500 B"),
                (.init(totalBytes: 3_500), 3, "larger than 3.5 kB in total"),
                (.init(), 4, nil),
            ] as [(ImageLoader.Limits, Int, String?)] {
                let arrivals = Recorder<ImageLoader.Arrival>()
                await ImageLoader(limits: limits, cacheDirectory: nil) { arrivals.note($0) }.load(sources)
                #expect(arrivals.values.count == 4)
                let failures = arrivals.values.compactMap { arrival in
                    if case .failure(let failure) = arrival.result { failure.line } else { nil }
                }
                #expect(
                    failures.count == 4 - loaded && failures.allSatisfy { $0.contains(reason ?? "") }, "\(failures)")
            }
        }
    }

    @Test func `images are not read if nothing can show them`() async throws {
        let loadedImage = ["a.png": TestImage.png(8, 16)]
        try await withDirectory { directory in
            for (arguments, isTerminal, images) in [
                ([], false, .iTerm2), ([], true, .none), (["--to", "html"], true, .iTerm2),
                (["--to", "text"], true, .kitty), (["--no-images"], true, .iTerm2),
            ] as [([String], Bool, TerminalRenderer.ImageProtocol)] {
                // A missing image would be reported.
                let shown = try await ShownImages.run(
                    "![one](a.png)\n\n![two](none.png)", arguments, files: loadedImage, images: images,
                    isTerminal: isTerminal, in: directory)
                #expect(shown.status == .success && shown.error == "" && !shown.output.contains("\u{1B}]1337"))
                #expect(shown.output.contains("one") && shown.output.contains("two"))
            }
        }
    }

    @Test func `if the text is longer than the screen, images follow below it, and a pager gets none`() async throws {
        try await withDirectory { directory in
            let markdown = "![one](a.png)\n\n" + String(repeating: "word\n\n", count: 30)
            let loadedImage = TestImage.png(16, 160)
            let shown = try await ShownImages.run(
                markdown, files: ["a.png": loadedImage], images: .kitty, rows: 12, in: directory)
            #expect(shown.loadedImages == [loadedImage] && shown.terminal.loadedImages[0].row > 30)
            #expect(shown.terminal.loadedImages[0].rows == 8 && shown.terminal.unknown == [])
            #expect(shown.terminal.text[shown.terminal.loadedImages[0].row - 1] == "one")

            let recorded = RecordedConsole()
            var console = recorded.console
            console.outputSize = { .init(columns: 60, rows: 12) }
            console.outputImages = .kitty
            console.pager = Pager(environment: ["PAGER": "cat > '\(directory.path)/paged'", "PATH": "/usr/bin:/bin"])
            let file = directory.appending(path: "notes.md").path
            #expect(await SluiceProgram.run(["show", file], console: console) == .success)
            #expect(recorded.output == "" && recorded.error == "")
            let paged = String(decoding: try Data(contentsOf: directory.appending(path: "paged")), as: UTF8.self)
            #expect(paged.contains("one") && !paged.contains("\u{1B}_G"))
        }
    }

    @Test func `images are left out with --no-images`() async throws {
        try await withDirectory { directory in
            for (format, output) in [
                ("terminal", "one x\n"), ("text", "one x\n"), ("html", "<p>one x</p>\n"),
            ] {
                let shown = try await ShownImages.run(
                    "![one](a.png) x", ["--no-images", "--to", format], in: directory)
                #expect(shown.status == .success && shown.output == output)
            }
            let both = try await ShownImages.run("x", ["--no-images", "--remote-images"], in: directory)
            #expect(both.status == .usage && both.output == "")
            #expect(both.error.contains("--no-images and --remote-images can't be combined"))
            #expect(both.error.contains("See 'sluice show --help'."))
        }
    }
}

@Suite(.timeLimit(.minutes(15))) struct `sluice show's images on servers` {
    private static let loadedImage = TestImage.png(80, 32, rest: 500)

    @Test func `images are never requested without the flag, or without a terminal that shows them`() async throws {
        try await withDirectory { directory in
            try await LoopbackOrigin.serve { _ in
                OriginResponse(body: Self.loadedImage)
            } during: { origin in
                for (arguments, images, isTerminal) in [
                    ([], .kitty, true), (["--remote-images"], .none, true), (["--remote-images"], .kitty, false),
                    (["--remote-images", "--to", "html"], .kitty, true), (["--no-images"], .kitty, true),
                    (["--remote-images", "--to", "text"], .kitty, true),
                ] as [([String], TerminalRenderer.ImageProtocol, Bool)] {
                    let shown = try await ShownImages.run(
                        "![one]({origin}/a.png)", arguments, images: images, isTerminal: isTerminal, in: directory,
                        origin: origin)
                    #expect(shown.status == .success && shown.error == "" && shown.output.contains("one"))
                    #expect(!shown.output.contains("\u{1B}_G"))
                }
                #expect(origin.metrics.connections == 0)
            }
        }
    }

    @Test func `remote images come after the text, and neither the text nor local images wait for them`() async throws {
        let gate = Gate()
        let recorded = RecordedConsole()
        try await withDirectory { directory in
            try await LoopbackOrigin.serve { _ in
                await gate.pass()
                return OriginResponse(body: Self.loadedImage)
            } during: { origin in
                async let run = ShownImages.run(
                    "start\n\n![remote]({origin}/a.png)\n\n![local](b.png)\n\nend", ["--remote-images"],
                    files: ["b.png": TestImage.gif(8, 16)], in: directory, origin: origin, recorded: recorded)
                // The server has received the request and doesn't answer.
                await gate.arrivals(1)
                #expect(recorded.output.hasPrefix("start\nremote") || recorded.output.hasPrefix("start\n\nremote"))
                // An image is written in pieces, and then the text below it is written again.
                try await recorded.output(where: { output in
                    var terminal = FakeTerminal(columns: 60, rows: 40)
                    terminal.write(output)
                    return terminal.loadedImages.map(\.bytes) == [TestImage.gif(8, 16)]
                        && terminal.text.contains { $0.hasPrefix("remote") } && terminal.text.contains("end")
                })

                await gate.open()
                let shown = try await run
                #expect(shown.status == .success && shown.error == "")
                #expect(shown.loadedImages == [Self.loadedImage, TestImage.gif(8, 16)] && shown.terminal.unknown == [])
            }
        }
    }

    @Test(arguments: [
        (TerminalRenderer.ImageProtocol.kitty, "a.JPG?x=1", "a JPEG image, but this terminal shows only PNG"),
        (.kitty, "a.svg", "an SVG image, but this terminal shows only PNG"),
        (.iTerm2, "badge.svg", "an SVG image, but this terminal shows only PNG, JPEG, GIF and WebP"),
    ]) func `images aren't fetched if their names say that the terminal can't show them`(
        images: TerminalRenderer.ImageProtocol, name: String, reason: String
    ) async throws {
        try await withDirectory { directory in
            try await LoopbackOrigin.serve { _ in
                OriginResponse(body: Self.loadedImage)
            } during: { origin in
                let shown = try await ShownImages.run(
                    "![one]({origin}/\(name))", ["--remote-images"], images: images, in: directory, origin: origin)
                #expect(shown.status == .success && shown.loadedImages == [] && origin.metrics.requests == 0)
                #expect(shown.error.contains("\(reason). Open it in a browser.\n"), "\(shown.error)")
            }
        }
    }

    @Test func `images come from the disk the second time`() async throws {
        try await withDirectory { directory in
            try await LoopbackOrigin.serve { _ in
                OriginResponse(headerFields: [.cacheControl: "max-age=3600"], body: Self.loadedImage)
            } during: { origin in
                for _ in 1...2 {
                    let shown = try await ShownImages.run(
                        "![one]({origin}/a.png)\n\n![again]({origin}/a.png)", ["--remote-images"], in: directory,
                        origin: origin)
                    #expect(shown.loadedImages == [Self.loadedImage, Self.loadedImage] && shown.error == "")
                }
                #expect(origin.metrics.requests == 1)
            }
        }
    }

    @Test(arguments: [
        ("404", ["404", "Check the URL"]), ("large", ["16.8 MB", "smaller"]), ("endless", ["16.8 MB", "smaller"]),
        ("short", ["before the response was complete"]),
        ("page", ["isn't a PNG, JPEG, GIF or WebP image", "in a browser"]),
        ("file", ["its target isn't an http or https URL"]), ("loop", ["too many redirects"]),
        ("gzip", ["coded body (gzip)"]),
    ])
    func `remote images that can't be loaded leave their descriptions, and one line says why`(
        path: String, mentions: [String]
    ) async throws {
        try await withDirectory { directory in
            try await LoopbackOrigin.serve { request in
                switch request.target {
                case "/404": OriginResponse(status: 404)
                case "/large": OriginResponse(announcedLength: 17 << 20, steps: [.stall])
                case "/endless":
                    OriginResponse(
                        announcedLength: nil,
                        steps: Array(repeating: .send([UInt8](repeating: 0, count: 1 << 20)), count: 18))
                case "/short": OriginResponse(announcedLength: 10_000, steps: [.send(Self.loadedImage), .hangUp])
                case "/page": OriginResponse(body: Array("<html>".utf8))
                case "/file": .redirect(to: "file:///etc/passwd")
                case "/loop": .redirect(to: "/loop")
                case "/gzip": OriginResponse(headerFields: [.contentEncoding: "gzip"], body: Self.loadedImage)
                default: OriginResponse(body: Self.loadedImage)
                }
            } during: { origin in
                let shown = try await ShownImages.run(
                    "![gone]({origin}/\(path))\n\n![good]({origin}/good)", ["--remote-images"], in: directory,
                    origin: origin)
                #expect(shown.status == .success && shown.loadedImages == [Self.loadedImage])
                #expect(shown.terminal.text.contains { $0.hasPrefix("gone") })
                #expect(shown.error.split(separator: "\n").count == 1)
                for mention in ["1 of 2 images", origin.url("/\(path)")] + mentions {
                    #expect(shown.error.contains(mention), "\"\(mention)\" in: \(shown.error)")
                }
            }
        }
    }

    @Test func `a redirect to another host is followed`() async throws {
        try await withDirectory { directory in
            try await LoopbackOrigin.serve { _ in
                OriginResponse(body: Self.loadedImage)
            } during: { other in
                try await LoopbackOrigin.serve { _ in
                    .redirect(to: other.url("/b.png"))
                } during: { origin in
                    let shown = try await ShownImages.run(
                        "![one]({origin}/a.png)", ["--remote-images"], in: directory, origin: origin)
                    #expect(shown.loadedImages == [Self.loadedImage] && other.metrics.requests == 1)
                }
            }
        }
    }

    @Test func `an image is waited for no longer than the limit`() async throws {
        let arrivals = Recorder<ImageLoader.Arrival>()
        try await withDirectory { directory in
            try await LoopbackOrigin.serve { _ in
                OriginResponse(announcedLength: 100, steps: [.stall])
            } during: { origin in
                let loader = ImageLoader(limits: .init(time: .milliseconds(1)), cacheDirectory: directory) {
                    arrivals.note($0)
                }
                await loader.load([ImageSource(origin.url("/a.png?secret"), besides: "-")])
                guard case .failure(let failure) = arrivals.values.first?.result else {
                    Issue.record("nothing has failed")
                    return
                }
                #expect(failure.line == "\(origin.url("/a.png?…")) didn't arrive within 0 s. Try again later.")
            }
        }
    }

    @Test func `if nothing can be cached, the failure has a reason`() async throws {
        for directory in [nil, URL(filePath: "/proc/none")] {
            let arrivals = Recorder<ImageLoader.Arrival>()
            let loader = ImageLoader(cacheDirectory: directory) { arrivals.note($0) }
            await loader.load([ImageSource("http://127.0.0.1:1/a.png", besides: "-")])
            #expect(arrivals.values.count == 1)
            guard case .failure(let failure) = arrivals.values.first?.result else {
                Issue.record("the image has arrived")
                continue
            }
            #expect(failure.line.contains("127.0.0.1:1/a.png"))
            #expect(failure.line.contains(directory == nil ? "XDG_CACHE_HOME" : "/proc/none"), "\(failure.line)")
        }
    }

    @Test func `at most six images are loaded at a time`() async throws {
        let gate = Gate()
        try await withDirectory { directory in
            try await LoopbackOrigin.serve { _ in
                await gate.pass()
                return OriginResponse(body: Self.loadedImage)
            } during: { origin in
                let markdown = (0..<20).map { "![\($0)]({origin}/\($0).png)" }.joined(separator: "\n\n")
                async let run = ShownImages.run(markdown, ["--remote-images"], rows: 200, in: directory, origin: origin)
                await gate.arrivals(6)
                #expect(origin.metrics.requests == 6)
                await gate.open()
                let shown = try await run
                #expect(shown.loadedImages.count == 20)
                #expect(origin.metrics.peak <= 6)
            }
        }
    }
}
