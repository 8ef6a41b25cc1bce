import ArgumentParser
import HTTPTypes
import SluiceDownloads
import SluiceFiles
import SluiceHTTP
import SluiceServer
import SluiceService

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

struct QueueServeCommand: ConsoleCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve",
        abstract: "Shows a queue in web browsers, where people can watch and change it.",
        discussion: """
            Prints the address of the page, and serves it until it gets a signal. The page shows what runs, waits and failed, why a \
            download waits, which workers respond, and which hosts are in backoff; it follows changes by all processes. People can add, \
            pause, resume, cancel, retry, remove and prioritize downloads. With --read-only, they can only look.

            The command downloads nothing: start workers with 'sluice queue work', on this machine or others. An API with the same \
            functions is below /api/v1/; its description is at /api/v1/openapi.json.

            WHO CAN REACH IT: By default, only programs on this machine, through 127.0.0.1. On any other address, the page needs a \
            token, because anyone who reaches it could start downloads: write at least 16 random characters into a file for \
            --token-file. Browsers ask for the token once; programs send it as 'Authorization: Bearer TOKEN'. The connection isn't \
            encrypted, so for other machines, put a proxy with TLS in front: let it connect to a Unix socket, and allow its host name \
            with --host.

            EXAMPLES:
              Show a queue on http://127.0.0.1:8080:
                sluice queue serve --db songs.db
              Show the queue of workers on several machines, for looking only:
                sluice queue serve --db postgres://ann@db.example/sluice --read-only
              Serve a proxy that makes the page https://downloads.example/queue:
                sluice queue serve --db songs.db --listen unix:/run/sluice.sock --base-path /queue \
            --host downloads.example --token-file token
              Count the failed downloads:
                curl -s http://127.0.0.1:8080/api/v1/queue | jq .counts.failed

            \(ExitStatus.help)
            """)

    @OptionGroup
    var queue: QueueOption

    @Option(
        help: .init(
            "The address and port, such as 127.0.0.1:8080 or [::1]:0 (any free port), or a Unix socket, such as unix:/run/sluice.sock.",
            valueName: "address"))
    var listen = "127.0.0.1:8080"

    @Flag(help: "Only show the queue.")
    var readOnly = false

    @Option(help: .init("A file with the token that people and programs must know.", valueName: "file"))
    var tokenFile: String?

    @Option(help: .init("The path of the page, such as /queue.", valueName: "path"))
    var basePath = ""

    @Option(
        help: .init(
            "A host name by which browsers reach the page. Repeatable. IP addresses and localhost need none.",
            valueName: "name"))
    var host: [String] = []

    /// The shortest token.
    private static let tokenLength = 16

    func run(_ console: Console) async throws -> ExitStatus {
        let address: ServerAddress
        do {
            address = try ServerAddress(listen)
        } catch {
            throw CommandFailure(.usage, "--listen \(listen): \(error) See 'sluice queue serve --help'.")
        }
        guard basePath.isEmpty || basePath.hasPrefix("/"), basePath.utf8.allSatisfy(Self.isPlain) else {
            throw CommandFailure(
                .usage,
                "--base-path \(basePath): The path must begin with a slash, and consist of letters, digits, '-', '.', '_', '~' and "
                    + "slashes. See 'sluice queue serve --help'.")
        }
        let path = String(basePath.reversed().drop { $0 == "/" }.reversed())
        let token = try await readToken()
        guard token != nil || address.isLocal else {
            throw CommandFailure(
                .usage,
                "--listen \(listen): Other machines can reach this address, so the page needs a token. Name a file that contains one "
                    + "with --token-file, or listen on 127.0.0.1. See 'sluice queue serve --help'.")
        }
        let database = QueueDatabase(name: queue.db, command: "serve")
        let title = database.shortTitle
        return try await database.withQueue { downloads in
            let page = QueuePage(
                downloads,
                configuration: .init(
                    basePath: path, title: title, isReadOnly: readOnly, token: token, hosts: Set(host)))
            do {
                return try await HTTPServer.serve(on: address) { request, body in
                    await page.response(to: request, body: body).forServer
                } during: { server in
                    let place = server.address.isUnixSocket ? "\(server.address)" : "http://\(server.address)\(path)/"
                    await console.write("Serving \(title) at \(place)\n", to: .output)
                    // Until a signal cancels the task.
                    for await _ in AsyncStream<Never>.makeStream().stream {}
                    return .interrupted
                }
            } catch let error as FileError {
                throw CommandFailure(.other, "--listen \(error)")
            }
        }
    }

    /// Whether a path can contain the byte without an escape, which requests might spell in different ways (RFC 3986, section 2.3).
    private static func isPlain(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: "-._~/".utf8.contains(byte)
        }
    }

    private func readToken() async throws -> String? {
        guard let tokenFile else { return nil }
        guard !tokenFile.isEmpty else {
            throw CommandFailure(
                .usage, "--token-file: The file has no name. Name a file. See 'sluice queue serve --help'.")
        }
        let text = try await RequestSettings.text(of: tokenFile, "--token-file", .shared)
        let token = RequestSettings.firstLine(text).trimmingSpaces()
        guard token.utf8.count >= Self.tokenLength, token.utf8.allSatisfy({ (33...126).contains($0) }) else {
            throw CommandFailure(
                .usage,
                "--token-file \(tokenFile): The first line must have at least \(Self.tokenLength) letters, digits or signs, without spaces. "
                    + "See 'sluice queue serve --help'.")
        }
        return token
    }
}

extension ServerAddress {
    fileprivate var isUnixSocket: Bool { if case .unixSocket = self { true } else { false } }
}

extension QueuePage.Response {
    fileprivate var forServer: (HTTPResponse, HTTPServer.Body) {
        switch body {
        case .data(let data): (head, .data(data))
        case .stream(let pieces):
            (head, .stream { send in for try await piece in pieces { try await send(piece) } })
        }
    }
}
