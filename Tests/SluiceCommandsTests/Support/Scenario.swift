import Foundation
import LoopbackOrigin
import SluiceCommands
import SluiceConcurrency
import SluiceFiles
import TestSupport

/// One run of the program in a temporary directory, against a server that answers well or badly, depending on the request's path.
struct Scenario: Sendable {
    let status: ExitStatus
    let console: RecordedConsole
    /// The names in the directory afterwards.
    let names: [String]

    /// Replaces `{origin}`, `{tls}` and `{dir}` in the arguments and in the named files, and runs the arguments.
    static func run(
        _ arguments: [String], isTerminal: Bool = false, files: [String: String] = [:],
        prepare: @Sendable (URL) throws -> Void = { _ in },
        inspect: @escaping @Sendable (URL) throws -> Void = { _ in }
    ) async throws -> Scenario {
        try await FileIO.shared.withTemporaryDirectory(prefix: "sluice-tests") { directory in
            try prepare(directory)
            return try await LoopbackOrigin.serve(answer) { origin in
                let console = RecordedConsole(isTerminal: isTerminal)
                func filled(_ text: String) -> String {
                    text.replacing("{origin}", with: "http://127.0.0.1:\(origin.port)")
                        .replacing("{tls}", with: "https://127.0.0.1:\(origin.port)")
                        .replacing("{dir}", with: directory.path)
                }
                for (name, text) in files {
                    try await Data(filled(text).utf8).asyncWrite(to: directory.appending(path: name))
                }
                let status = await SluiceProgram.run(arguments.map(filled), console: console.console)
                try inspect(directory)
                let names = try FileManager.default.contentsOfDirectory(atPath: directory.path).sorted()
                return Scenario(status: status, console: console, names: names)
            }
        }
    }

    static let body = Array("the content\n".utf8)

    @Sendable private static func answer(_ request: OriginRequest) async -> OriginResponse {
        let path = request.target.split(separator: "/").first.map(String.init) ?? ""
        if let status = Int(path.prefix(3)), (200..<600).contains(status) { return OriginResponse(status: status) }
        return switch path {
        case "short": OriginResponse(announcedLength: 100, steps: [.send(body), .hangUp])
        case "stall": OriginResponse(announcedLength: 100, steps: [.send(body), .stall])
        case "silent": OriginResponse(body: body, delay: .seconds(3600))
        case "loop": .redirect(to: "/loop")
        case "large": OriginResponse(body: Array(repeating: 7, count: 1_000_000))
        case "once": request.attempt == 1 ? OriginResponse(status: 503) : OriginResponse(body: body)
        default: OriginResponse(body: body)
        }
    }
}

/// Our type; Swift Testing has a type of this name, too.
typealias ExitStatus = SluiceCommands.ExitStatus

/// A console that records the output of a command.
final class RecordedConsole: Sendable {
    private let texts = Monitor<[Console.Stream: String]>([:])
    private let isTerminal: Bool

    init(isTerminal: Bool = false) {
        self.isTerminal = isTerminal
    }

    var console: Console {
        var console = Console(isTerminal: isTerminal) { text, stream in
            self.texts.withState { $0[stream, default: ""] += text }
        }
        console.byteSink = { bytes in
            self.texts.withState { $0[.output, default: ""] += String(decoding: bytes, as: UTF8.self) }
        }
        return console
    }

    var output: String { texts.state[.output, default: ""] }
    var error: String { texts.state[.error, default: ""] }
    var errorLines: [String] { error.split(separator: "\n").map(String.init) }

    /// Waits until `isReached` returns true for the text of a stream.
    func output(
        _ stream: Console.Stream = .output, where isReached: @escaping @Sendable (String) -> Bool
    ) async throws {
        try await texts.waitUnlessCancelled(where: { isReached($0[stream, default: ""]) })
    }
}

extension ChildProcess {
    /// Runs the program `sluice` that was built with these tests, to its end.
    static func sluice(
        _ arguments: [String], watching: (ChildProcess) async throws -> Void = { _ in },
        readable: @escaping @Sendable () async -> Void = {}
    ) async throws -> End {
        try await sluice(#"exec "$@""#, arguments, watching: watching, readable: readable)
    }

    /// Runs a line of shell code, in which `"$@"` are the program `sluice` and its arguments.
    static func sluice(
        _ line: String, _ arguments: [String], watching: (ChildProcess) async throws -> Void = { _ in },
        readable: @escaping @Sendable () async -> Void = {}
    ) async throws -> End {
        try await shell(line, [builtProgram("sluice").path] + arguments, watching: watching, readable: readable)
    }
}
