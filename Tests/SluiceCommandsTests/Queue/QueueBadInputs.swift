import SluiceCommands

extension BadInput {
    private static let noDatabase = ["{dir}/none.db", "no such database", "sluice queue add"]

    /// Wrong inputs of `sluice queue`. None of them creates a database.
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
            mentions: ["--all, --user and a number exclude each other"]),
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
            mentions: ["--from", "no such database"]),
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
            mentions: ["--db postgres://…", "Build with --traits PostgreSQL"]),
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
