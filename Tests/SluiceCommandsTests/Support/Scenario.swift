import Foundation
import LoopbackOrigin
import SluiceCommands
import SluiceFiles

/// One run of the program against a server that answers well or badly by the request's path, in a folder of its own.
struct Scenario: Sendable {
    let status: ExitStatus
    let console: RecordedConsole
    /// The names in the folder afterwards.
    let names: [String]

    /// Replaces `{origin}`, `{tls}` and `{folder}` in the arguments and in the files, by name, and runs the arguments.
    static func run(
        _ arguments: [String], isTerminal: Bool = false, files: [String: String] = [:],
        prepare: @Sendable (URL) throws -> Void = { _ in },
        inspect: @escaping @Sendable (URL) throws -> Void = { _ in }
    ) async throws -> Scenario {
        try await FileIO.shared.withTemporaryDirectory(prefix: "sluice-tests") { folder in
            try prepare(folder)
            return try await LoopbackOrigin.serve(answer) { origin in
                let console = RecordedConsole(isTerminal: isTerminal)
                func filled(_ text: String) -> String {
                    text.replacing("{origin}", with: "http://127.0.0.1:\(origin.port)")
                        .replacing("{tls}", with: "https://127.0.0.1:\(origin.port)")
                        .replacing("{folder}", with: folder.path)
                }
                for (name, text) in files {
                    try await Data(filled(text).utf8).asyncWrite(to: folder.appending(path: name))
                }
                let status = await SluiceProgram.run(arguments.map(filled), console: console.console)
                try inspect(folder)
                let names = try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
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

/// Ours: Swift Testing has a type of this name, too.
typealias ExitStatus = SluiceCommands.ExitStatus
