import Foundation
import SluiceCommands
import Testing

/// A bad input: the arguments, the exit status, and what the error line must mention.
struct BadInput: Sendable, CustomTestStringConvertible {
    let arguments: [String]
    let status: ExitStatus
    /// What the line must mention: the URL, path or option, and what to do.
    let mentions: [String]
    /// Files that exist before, by name.
    var files: [String: String] = [:]
    /// The number of lines: one for each mistake.
    var lines = 1

    var testDescription: String { arguments.joined(separator: " ") }

    static let table: [BadInput] = [
        // The command line.
        .init(arguments: ["frobnicate"], status: .usage, mentions: ["frobnicate", "--help"]),
        .init(arguments: ["get"], status: .usage, mentions: ["URLs", "-i", "--help"]),
        .init(arguments: ["get", "--frob", "{origin}/a"], status: .usage, mentions: ["--frob", "get --help"]),
        .init(arguments: ["get", "-j", "0", "{origin}/a"], status: .usage, mentions: ["-j 0", "from 1 to"]),
        .init(arguments: ["get", "-j", "many", "{origin}/a"], status: .usage, mentions: ["many", "-j"]),
        .init(
            arguments: ["get", "--retries=-1", "{origin}/a"], status: .usage,
            mentions: ["--retries -1", "from 0 to 1000"]),
        .init(
            arguments: ["get", "--timeout", "0", "{origin}/a"], status: .usage,
            mentions: ["--timeout 0", "from 0.001 to 86400"]),
        .init(arguments: ["get", "--timeout", "nan", "{origin}/a"], status: .usage, mentions: ["--timeout nan"]),
        .init(arguments: ["get", "--timeout", "1e999", "{origin}/a"], status: .usage, mentions: ["--timeout inf"]),
        .init(
            arguments: ["get", "--timeout", "86401", "{origin}/a"], status: .usage,
            mentions: ["--timeout 86401", "from 0.001 to 86400"]),
        .init(
            arguments: ["get", "--connect-timeout", "99999999999999999999", "{origin}/a"], status: .usage,
            mentions: ["--connect-timeout 1e+20", "from 0.001 to 86400"]),
        .init(
            arguments: ["get", "--connect-timeout", "1e-19", "{origin}/a"], status: .usage,
            mentions: ["--connect-timeout 1e-19", "from 0.001 to 86400"]),
        .init(arguments: ["get", "--timeout", "1e-300", "{origin}/a"], status: .usage, mentions: ["--timeout 1e-300"]),
        .init(
            arguments: ["get", "--connect-timeout=-1", "{origin}/a"], status: .usage,
            mentions: ["--connect-timeout -1", "from 0.001 to 86400"]),
        .init(
            arguments: ["get", "-j", "99999999999999999999", "{origin}/a"], status: .usage,
            mentions: ["99999999999999999999", "-j"]),
        .init(
            arguments: ["get", "-j", "9223372036854775807", "{origin}/a"], status: .usage,
            mentions: ["-j 9223372036854775807", "from 1 to 1024"]),
        .init(arguments: ["get", "-j=-1", "{origin}/a"], status: .usage, mentions: ["-j", "get --help"]),
        .init(
            arguments: ["get", "--retries", "9223372036854775807", "{origin}/a"], status: .usage,
            mentions: ["--retries 9223372036854775807", "from 0 to 1000"]),
        .init(
            arguments: ["get", "--per-host=-9223372036854775808", "{origin}/a"], status: .usage,
            mentions: ["--per-host -9223372036854775808", "from 1 to"]),
        .init(
            arguments: ["cache", "trim", "-d", "{dir}", "--size", "9999999T"], status: .usage,
            mentions: ["9999999T", "--size", "cache trim --help"]),
        .init(
            arguments: ["cache", "trim", "-d", "{dir}", "--size", "1e9999"], status: .usage,
            mentions: ["1e9999", "--size"]),
        .init(
            arguments: ["show", "--width", "9223372036854775807", "-"], status: .usage,
            mentions: ["--width 9223372036854775807", "from 1 to 10000"]),
        .init(
            arguments: ["demo", "-j", "9223372036854775807"], status: .usage,
            mentions: ["-j 9223372036854775807", "from 1 to 1024"]),
        .init(
            arguments: ["get", "--overwrite", "--no-clobber", "{origin}/a"], status: .usage,
            mentions: ["--overwrite", "--no-clobber", "Use only one"]),
        .init(
            arguments: ["get", "--newer", "--no-clobber", "{origin}/a"], status: .usage,
            mentions: ["--newer and --no-clobber", "Use only one"]),
        .init(
            arguments: ["get", "-N", "--overwrite", "{origin}/a"], status: .usage, mentions: ["--newer and --overwrite"]
        ),
        .init(
            arguments: ["get", "--segments", "0", "{origin}/a"], status: .usage,
            mentions: ["--segments 0", "from 1 to 64"]),
        .init(
            arguments: ["queue", "work", "--db", "{dir}/q.db", "--segments", "65"], status: .usage,
            mentions: ["--segments 65", "from 1 to 64"]),
        .init(
            arguments: ["get", "--follow-duplicates", "{origin}/a"], status: .usage,
            mentions: ["--follow-duplicates: Pass --segments"]),
        .init(
            arguments: ["get", "--min-segment-size", "63k", "{origin}/a"], status: .usage,
            mentions: ["--min-segment-size 63000", "at least 64k"]),
        .init(
            arguments: ["get", "--min-speed", "10k", "{origin}/a"], status: .usage, mentions: ["--min-speed", "10k"]),
        .init(
            arguments: ["get", "--min-speed", "0:5", "{origin}/a"], status: .usage,
            mentions: ["--min-speed 0:5", "at least 1 byte"]),
        .init(
            arguments: ["get", "--min-speed", "1k:0", "{origin}/a"], status: .usage,
            mentions: ["--min-speed 1k:0", "from 0.001 to 86400"]),
        .init(arguments: ["get", "--progress", "pie", "{origin}/a"], status: .usage, mentions: ["pie", "--progress"]),
        .init(arguments: ["demo", "-j", "0"], status: .usage, mentions: ["-j 0", "demo --help"]),
        .init(
            arguments: ["get", "--per-host", "0", "{origin}/a"], status: .usage,
            mentions: ["--per-host 0", "from 1 to"]),
        .init(
            arguments: ["get", "--per-user", "2000", "{origin}/a"], status: .usage,
            mentions: ["--per-user 2000", "from 1 to"]),
        // Proxies and certificates.
        .init(
            arguments: ["get", "--proxy", "ftp://ann:secret@a.example:1", "{origin}/a"], status: .usage,
            mentions: ["--proxy ftp://…", "socks5h"]),
        .init(
            arguments: ["get", "--proxy", "http://:8080", "{origin}/a"], status: .usage,
            mentions: ["--proxy", "The host isn't valid"]),
        .init(
            arguments: ["get", "--proxy", "http://ann:secret@a.example:99999", "{origin}/a"], status: .usage,
            mentions: ["--proxy", "The port isn't from 1 to 65535"]),
        .init(
            arguments: ["get", "--proxy", "http://ann:se/cret@a.example", "{origin}/a"], status: .usage,
            mentions: ["--proxy", "percent-encoded"]),
        .init(
            arguments: [
                "get", "-d", "{dir}", "--retries", "0", "--proxy", "http://no-such-proxy.invalid:1", "{origin}/a",
            ],
            status: .network, mentions: ["{origin}/a", "Couldn't use the proxy", "--proxy"]),
        .init(
            arguments: ["get", "--ca-file", "{dir}/none.pem", "-d", "{dir}", "{origin}/a"], status: .localFile,
            mentions: ["--ca-file", "none.pem", "No such file"]),
        .init(
            arguments: ["get", "--key", "{dir}/key.pem", "-d", "{dir}", "{origin}/a"], status: .usage,
            mentions: ["--key", "--cert"]),
        // The queue's file.
        .init(arguments: ["get", "--db", "", "{origin}/a"], status: .usage, mentions: ["--db", "Name a file"]),
        .init(
            arguments: ["get", "--db", "{dir}", "-d", "{dir}", "{origin}/a"], status: .store,
            mentions: ["--db: ", "{dir}", "database", "Choose"]),
        .init(
            arguments: ["get", "--db", "{dir}/none/queue.db", "-d", "{dir}", "{origin}/a"], status: .store,
            mentions: ["/none/queue.db", "directory"]),
        .init(
            arguments: ["get", "--db", "{dir}/notes.txt", "-d", "{dir}", "{origin}/a"], status: .store,
            mentions: ["notes.txt", "Move the file away"],
            files: ["notes.txt": String(repeating: "no database ", count: 100)]),
        // The cache.
        .init(
            arguments: ["get", "--cache", "-d", "{dir}", "{origin}/a"], status: .usage,
            mentions: ["No cache directory", "XDG_CACHE_HOME", "--cache-directory"]),
        .init(
            arguments: ["get", "--cache-directory", "", "-d", "{dir}", "{origin}/a"], status: .usage,
            mentions: ["--cache-directory", "Name a directory", "sluice get --help"]),
        .init(
            arguments: ["get", "--cache-directory", "{dir}/notes.txt", "-d", "{dir}", "{origin}/a"],
            status: .localFile, mentions: ["--cache-directory: ", "notes.txt"], files: ["notes.txt": "x"]),
        .init(arguments: ["cache", "frobnicate"], status: .usage, mentions: ["frobnicate", "sluice cache --help"]),
        .init(
            arguments: ["cache", "stats"], status: .usage,
            mentions: ["No cache directory", "XDG_CACHE_HOME", "--directory"]),
        .init(
            arguments: ["cache", "trim", "-d", "{dir}"], status: .usage,
            mentions: ["--size, --older-than or --stale", "cache trim --help"]),
        .init(
            arguments: ["cache", "remove", "-d", "{dir}", "a.example/x"], status: .usage,
            mentions: ["a.example/x", "no scheme"]),
        // URLs.
        .init(arguments: ["get", "song.mp3"], status: .usage, mentions: ["song.mp3", "no scheme", "https://"]),
        .init(arguments: ["get", "127.0.0.1:80/x"], status: .usage, mentions: ["127.0.0.1:80/x", "no scheme"]),
        .init(arguments: ["get", "ftp://example.com/x"], status: .usage, mentions: ["ftp", "http or https"]),
        .init(arguments: ["get", "http:///x"], status: .usage, mentions: ["http:///x", "no host"]),
        .init(arguments: ["get", ""], status: .usage, mentions: ["The URL is empty"]),
        .init(
            arguments: ["get", "nonsense", "ftp://example.com/x", "{origin}/good"], status: .usage,
            mentions: ["nonsense", "ftp"], lines: 2),
        // Names.
        .init(
            arguments: ["get", "-o", "../x", "{origin}/a"], status: .usage,
            mentions: ["-o ../x", "-d", "sluice get --help"]),
        .init(arguments: ["get", "-o", "a/b", "{origin}/a"], status: .usage, mentions: ["-o a/b", "-d"]),
        .init(
            arguments: ["get", "-o", "-", "{origin}/a", "{origin}/b"], status: .usage,
            mentions: ["-o -", "2 URLs", "sluice get --help"]),
        .init(
            arguments: ["get", "-o", "-", "-d", "{dir}", "{origin}/a"], status: .usage,
            mentions: ["-o - and -d can't be combined", "sluice get --help"]),
        .init(
            arguments: ["get", "-o", "-", "--progress", "json", "{origin}/a"], status: .usage,
            mentions: ["-o - and --progress json"]),
        .init(
            arguments: ["get", "-o", "-", "--segments", "4", "{origin}/a"], status: .usage,
            mentions: ["-o - and --segments can't be combined"]),
        .init(
            arguments: ["get", "-o", "-", "-i", "-"], status: .usage, mentions: ["-o - and -i can't be combined"]),
        .init(arguments: ["get", "-o", "-"], status: .usage, mentions: ["There is nothing to download"]),
        .init(arguments: ["get", "-o", "-", "ftp://a.example/b"], status: .usage, mentions: ["ftp"]),
        .init(
            arguments: ["get", "-o", "-", "--checksum", "sha256:1", "{origin}/a"], status: .usage,
            mentions: ["--checksum: Write sha256:"]),
        .init(arguments: ["get", "-o", "", "{origin}/a"], status: .usage, mentions: ["-o", "file name"]),
        .init(
            arguments: ["get", "-o", "x", "{origin}/a", "{origin}/b"], status: .usage,
            mentions: ["-o x", "2 URLs", "sluice get --help"]),
        .init(arguments: ["get", "{origin}/a/x", "{origin}/b/x"], status: .usage, mentions: ["/a/x", "/b/x", "out="]),
        .init(
            arguments: ["get", "{origin}/x.sluice.part", "{origin}/x"], status: .usage,
            mentions: ["/x.sluice.part", "both be written", "out="]),
        // Lists.
        .init(
            arguments: ["get", "-i", "{dir}/none"], status: .localFile, mentions: ["-i", "/none", "o such file"]),
        .init(arguments: ["get", "-i", "{dir}"], status: .localFile, mentions: ["-i", "irectory"]),
        .init(
            arguments: ["get", "-i", "{dir}/list"], status: .usage, mentions: ["list", "no URL"],
            files: ["list": "\n# nothing\n"]),
        .init(
            arguments: ["get", "-i", "{dir}/list"], status: .usage, mentions: ["list:1: out=../x", "dir="],
            files: ["list": "http://a.example/x\n  out=../x\n"]),
        .init(
            arguments: ["get", "-i", "{dir}/list"], status: .usage, mentions: ["list:3", "list:1", "out="],
            files: ["list": "http://a.example/x\n\nhttp://b.example/x\n"]),
        .init(
            arguments: ["get", "-i", "{dir}/list"], status: .usage, mentions: ["list:1", "list:3", "color"],
            files: ["list": "  out=x\nhttp://a.example/x\n  color=red\n"], lines: 2),
        // Directories and files.
        .init(
            arguments: ["get", "-d", "/proc/none", "{origin}/a"], status: .localFile, mentions: ["/proc/none", "-d"]),
        .init(
            arguments: ["get", "-d", "{dir}/file/sub", "{origin}/a"], status: .localFile, mentions: ["/file"],
            files: ["file": ""]),
        .init(arguments: ["get", "-d", "/proc", "{origin}/a"], status: .localFile, mentions: ["/proc"]),
        .init(
            arguments: ["get", "-d", "{dir}", "{origin}/a"], status: .localFile,
            mentions: ["{origin}/a", "{dir}/a", "exists", "Pass --overwrite to replace it"], files: ["a": "old"]),
        // Servers.
        .init(
            arguments: ["get", "-d", "{dir}", "--retries", "0", "http://no-such-host.invalid/a"], status: .network,
            mentions: ["no-such-host.invalid", "wasn't found", "spelling"]),
        .init(
            arguments: ["get", "-d", "{dir}", "--retries", "0", "http://127.0.0.1:1/a"], status: .network,
            mentions: ["http://127.0.0.1:1/a", "refused", "port 1"]),
        .init(
            arguments: ["get", "-d", "{dir}", "{origin}/404"], status: .http,
            mentions: ["{origin}/404", "404", "Check the URL"]),
        .init(
            arguments: ["get", "-d", "{dir}", "{origin}/401"], status: .authentication,
            mentions: ["{origin}/401", "credentials"]),
        .init(
            arguments: ["get", "-d", "{dir}", "--retries", "0", "{origin}/503"], status: .http,
            mentions: ["{origin}/503", "later"]),
        .init(arguments: ["get", "-d", "{dir}", "{origin}/204"], status: .http, mentions: ["{origin}/204", "204"]),
        .init(
            arguments: ["get", "-d", "{dir}", "--retries", "0", "{origin}/short"], status: .network,
            mentions: ["{origin}/short", "before the response was complete", "Try again"]),
        .init(
            arguments: ["get", "-d", "{dir}", "--retries", "0", "--timeout", "0.2", "{origin}/stall"],
            status: .network, mentions: ["{origin}/stall", "0.2 s", "pass --timeout to wait longer"]),
        .init(
            arguments: ["get", "-d", "{dir}", "--retries", "0", "--timeout", "0.2", "{origin}/silent"],
            status: .network, mentions: ["{origin}/silent", "0.2 s"]),
        .init(
            arguments: ["get", "-d", "{dir}", "{origin}/loop"], status: .network,
            mentions: ["{origin}/loop", "too many redirects"]),
        .init(
            arguments: ["get", "-d", "{dir}", "--retries", "0", "{tls}/x"], status: .tls,
            mentions: ["{tls}/x", "certificate", "--ca-file"]),
        .init(
            arguments: ["get", "-d", "{dir}", "{origin}/404", "{origin}/401", "{origin}/fine"],
            status: .authentication, mentions: ["/404", "/401"], lines: 2),
    ]
}

@Suite struct `Bad input` {
    @Test(arguments: BadInput.table + BadInput.queueTable + BadInput.postgresTable)
    func `bad input gets one clear line and the right exit code, and leaves no partial file`(input: BadInput)
        async throws
    {
        // Given
        let isQuiet = input.arguments.first == "get"
        let arguments = input.arguments + (isQuiet && !input.arguments.contains("--progress") ? ["-q"] : [])
        // When
        let run = try await Scenario.run(arguments) { directory in
            for (name, content) in input.files {
                try Data(content.utf8).write(to: directory.appending(path: name))
            }
        } inspect: { directory throws in
            for (name, content) in input.files {
                #expect(try Data(contentsOf: directory.appending(path: name)) == Data(content.utf8))
            }
        }
        // Then
        #expect(run.status == input.status, "\(run.console.error)")
        #expect(run.console.errorLines.count == input.lines, "\(run.console.error)")
        #expect(run.console.errorLines.allSatisfy { $0.hasPrefix("sluice: ") })
        for mention in input.mentions where !mention.contains("{") {
            #expect(run.console.error.contains(mention), "\"\(mention)\" in: \(run.console.error)")
        }
        #expect(run.console.output.isEmpty && !run.console.error.contains("secret"))
        let expected = Set(input.files.keys).union(input.arguments.contains("{origin}/fine") ? ["fine"] : [])
        #expect(Set(run.names) == expected)
    }

    @Test func `a name that would move the cursor is shown without its escape sequences`() async throws {
        let run = try await Scenario.run(["get", "-q", "-d", "{dir}", "{origin}/404%1B%5B2J", "\u{1B}[2Jx"])
        #expect(run.status == .usage)
        #expect(!run.console.error.contains("\u{1B}"))
    }
}

// MARK: - Queues

extension BadInput {
    private static let noDatabase = ["{dir}/none.db", "No database found", "sluice queue add"]

    /// Bad inputs of `sluice queue`. None of them creates a database.
    static let queueTable: [BadInput] = [
        // The command line.
        .init(arguments: ["queue", "frobnicate"], status: .usage, mentions: ["frobnicate", "sluice queue --help"]),
        .init(
            arguments: ["queue", "add", "-d", "x", "{origin}/a"], status: .usage,
            mentions: ["--db", "sluice queue add --help"]),
        .init(
            arguments: ["queue", "add", "--db", "{dir}/q", "{origin}/a"], status: .usage,
            mentions: ["--directory", "queue add --help"]),
        .init(
            arguments: ["queue", "add", "--db", "{dir}/q", "-d", "x"], status: .usage,
            mentions: ["nothing to add", "-i"]),
        .init(
            arguments: ["queue", "add", "--db", "{dir}/q", "-d", "", "{origin}/a"], status: .usage,
            mentions: ["-d", "Name a directory"]),
        .init(
            arguments: ["queue", "add", "--db", "", "-d", "x", "{origin}/a"], status: .usage,
            mentions: ["--db", "Name a file"]),
        .init(
            arguments: ["queue", "add", "--db", "{dir}/q", "-d", "x", "--priority", "9999999999", "{origin}/a"],
            status: .usage, mentions: ["--priority 9999999999", "from -1000000000 to"]),
        .init(
            arguments: ["queue", "add", "--db", "{dir}/q", "-d", "x", "-i", "-", "-i", "-"], status: .usage,
            mentions: ["-i -", "once"]),
        .init(
            arguments: ["queue", "list", "--db", "{dir}/q", "--limit=-1"], status: .usage,
            mentions: ["--limit -1", "from 0 to"]),
        .init(
            arguments: ["queue", "work", "--db", "{dir}/q", "-j", "0"], status: .usage,
            mentions: ["-j 0", "sluice queue work --help"]),
        .init(
            arguments: ["queue", "work", "--db", "{dir}/q", "-d", ""], status: .usage,
            mentions: ["-d", "Name a directory", "sluice queue work --help"]),
        .init(
            arguments: ["queue", "copy", "--from", "{dir}/q", "--to", "{dir}/r", "--relative-to", ""], status: .usage,
            mentions: ["--relative-to", "Name a directory"]),
        // Selections.
        .init(
            arguments: ["queue", "cancel", "--db", "{dir}/q"], status: .usage,
            mentions: ["No downloads are selected", "--all, --waiting, --user"]),
        .init(
            arguments: ["queue", "retry", "--db", "{dir}/q"], status: .usage, mentions: ["--all, --user", "numbers"]),
        .init(
            arguments: ["queue", "cancel", "--db", "{dir}/q", "--all", "--user", "ann", "7"], status: .usage,
            mentions: ["--all and --user can't be combined"]),
        .init(
            arguments: ["queue", "cancel", "--db", "{dir}/q", "--all", "--batch", "b", "7"], status: .usage,
            mentions: ["--all, --batch and a number can't be combined"]),
        .init(
            arguments: ["queue", "pause", "--db", "{dir}/q", "--host", "http://a.example/"], status: .usage,
            mentions: ["--host http://a.example/", "without scheme"]),
        .init(arguments: ["queue", "pause", "--db", "{dir}/q", "seven"], status: .usage, mentions: ["seven"]),
        .init(
            arguments: ["queue", "retry", "--db", "{dir}/q", "--waiting"], status: .usage,
            mentions: ["--waiting", "queue retry --help"]),
        // Databases.
        .init(arguments: ["queue", "list", "--db", "{dir}/none.db"], status: .store, mentions: noDatabase),
        .init(arguments: ["queue", "watch", "--db", "{dir}/none.db"], status: .store, mentions: noDatabase),
        .init(arguments: ["queue", "cancel", "--db", "{dir}/none.db", "--all"], status: .store, mentions: noDatabase),
        .init(
            arguments: ["queue", "work", "--db", "{dir}/none.db", "--until-empty"], status: .store,
            mentions: noDatabase),
        .init(
            arguments: ["queue", "copy", "--from", "{dir}/none.db", "--to", "{dir}/q"], status: .store,
            mentions: ["--from", "No database found"]),
        .init(
            arguments: ["queue", "copy", "--from", "{dir}/q", "--to", "{dir}/./q"], status: .usage,
            mentions: ["--to", "the same queue as --from"], files: ["q": ""]),
        .init(
            arguments: ["queue", "list", "--db", "{dir}/notes.txt"], status: .store,
            mentions: ["--db", "notes.txt", "Move the file away"], files: ["notes.txt": noQueue]),
        .init(
            arguments: ["queue", "work", "--db", "{dir}/notes.txt"], status: .store,
            mentions: ["--db", "notes.txt", "Move the file away"], files: ["notes.txt": noQueue]),
        .init(
            arguments: ["queue", "add", "--db", "{dir}/notes.txt", "-d", "x", "{origin}/a"], status: .store,
            mentions: ["--db", "notes.txt"], files: ["notes.txt": noQueue]),
        // URLs and lists.
        .init(
            arguments: ["queue", "add", "--db", "{dir}/q", "-d", "x", "song.mp3", "{origin}/a"], status: .usage,
            mentions: ["song.mp3", "no scheme"]),
        .init(
            arguments: ["queue", "add", "--db", "{dir}/q", "-d", "x", "http://ann:secret@a.example/x"], status: .usage,
            mentions: ["http://a.example/x", "password", "Remove it"]),
        .init(
            arguments: ["queue", "add", "--db", "{dir}/q", "-d", "x", "-i", "{dir}/none"], status: .localFile,
            mentions: ["-i", "/none", "o such file"]),
        .init(
            arguments: ["queue", "add", "--db", "{dir}/q", "-d", "x", "-i", "{dir}/list"], status: .usage,
            mentions: ["list:1", "list:3", "color"], files: ["list": "  out=x\nhttp://a.example/x\n  color=red\n"],
            lines: 2),
        .init(
            arguments: ["queue", "add", "--db", "{dir}/q", "-d", "x", "-i", "{dir}/list"], status: .usage,
            mentions: ["list:2: out=../x", "dir="],
            files: ["list": "\u{FEFF}\nhttp://a.example/x\n  out=../x\n"]),
        .init(
            arguments: ["queue", "add", "--db", "{dir}/q", "-d", "x", "-i", "{dir}/list"], status: .usage,
            mentions: ["no URL"], files: ["list": "# nothing\n"]),
    ]

    #if PostgreSQL
    /// Addresses of databases, without a server. None of the lines contains the password.
    static let postgresTable: [BadInput] = [
        .init(
            arguments: ["queue", "list", "--db", "postgres://ann:secret@db.example/queue?color=red"], status: .usage,
            mentions: ["--db postgres://…", "unknown option 'color'", "sluice queue list --help"]),
        .init(
            arguments: ["queue", "watch", "--db", "postgres://ann:secret@db.example:port/queue"], status: .usage,
            mentions: ["--db postgres://…", "port"]),
        .init(
            arguments: ["queue", "add", "--db", "postgres://ann:secret@[db/queue", "-d", "x", "{origin}/a"],
            status: .usage, mentions: ["--db postgres://…", "isn't the URL of a PostgreSQL database", "% codes"]),
        .init(
            arguments: ["queue", "work", "--db", "postgresql://ann:secret@db.example/queue#"], status: .usage,
            mentions: ["--db postgresql://…", "after #", "sluice queue work --help"]),
        .init(
            arguments: ["queue", "copy", "--from", "{dir}/q", "--to", "PostgreSQL://ann:secret@h/queue?color=red"],
            status: .usage, mentions: ["--to postgres://…", "unknown option 'color'"]),
        .init(
            arguments: ["get", "--db", "postgres://ann:secret@h/queue#%zz", "{origin}/a"], status: .usage,
            mentions: ["--db postgres://…", "after #", "sluice get --help"]),
        .init(
            arguments: ["queue", "list", "--db", "postgres://ann:secret@127.0.0.1:1/queue"], status: .store,
            mentions: [
                "--db postgres://ann@127.0.0.1:1/queue: The server can't be reached", "Check that the server runs",
            ]),
        .init(
            arguments: ["queue", "cancel", "--db", "postgres://ann:secret@no-such-host.invalid/queue", "--all"],
            status: .store, mentions: ["--db postgres://ann@no-such-host.invalid/queue", "Check the host in the URL"]),
        .init(
            arguments: ["queue", "copy", "--from", "postgres://ann:secret@127.0.0.1:1/queue", "--to", "{dir}/q"],
            status: .store, mentions: ["--from postgres://ann@127.0.0.1:1/queue: The server can't be reached"]),
    ]
    #else
    static let postgresTable: [BadInput] = [
        .init(
            arguments: ["queue", "list", "--db", "postgres://ann:secret@db.example/queue"], status: .usage,
            mentions: ["--db postgres://…", "Build with --traits PostgreSQL", "sluice queue list --help"]),
        .init(
            arguments: ["queue", "copy", "--from", "{dir}/q", "--to", "PostgreSQL://db.example/queue"], status: .usage,
            mentions: ["--to postgresql://…", "Build with --traits PostgreSQL"]),
        .init(
            arguments: ["get", "--db", "postgres://db.example/queue", "{origin}/a"], status: .usage,
            mentions: ["--db postgres://…", "Build with --traits PostgreSQL"]),
    ]
    #endif

    private static let noQueue = String(repeating: "no database ", count: 100)
}
