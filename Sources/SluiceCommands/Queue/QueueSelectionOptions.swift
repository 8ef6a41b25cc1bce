import ArgumentParser
import SluiceDownloads
import SluiceHTTP

/// The options that select downloads. Exactly one selection is required, so that a forgotten option doesn't mean all downloads.
struct QueueSelectionOptions: ParsableArguments {
    @Flag(help: "All downloads.")
    var all = false

    @Option(help: .init("The downloads for a user. An empty name means those without a user.", valueName: "name"))
    var user: String?

    @Option(help: .init("The downloads of a batch. An empty name means those without a batch.", valueName: "name"))
    var batch: String?

    @Option(
        help: .init(
            "The downloads from a host, with its port unless that is the usual one: 127.0.0.1:8000.", valueName: "host")
    )
    var host: String?

    @Argument(help: .init("The numbers of downloads, as 'sluice queue list' shows them.", valueName: "id"))
    var ids: [Int64] = []

    /// Returns the only selection; `isWaiting` is the option `--waiting`, which some commands have.
    func selection(for command: String, isWaiting: Bool? = nil) throws(CommandFailure) -> QueuedDownload.Selection {
        func refuse(_ line: String) -> CommandFailure {
            CommandFailure(.usage, "\(line) See 'sluice queue \(command) --help'.")
        }
        var found: [(option: String, selection: QueuedDownload.Selection)] = []
        if all { found.append(("--all", .all)) }
        if isWaiting == true { found.append(("--waiting", .waiting)) }
        if let user { found.append(("--user", .user(user))) }
        if let batch { found.append(("--batch", .batch(batch))) }
        if let host {
            guard !host.isEmpty, !host.contains("/") else {
                throw refuse(
                    "--host \(host): This isn't a host. Name one without scheme and path, such as example.com.")
            }
            found.append(("--host", .host(HostName.canonical(typed: host))))
        }
        if !ids.isEmpty { found.append(("a number", .ids(ids.map { QueuedDownload.ID(rawValue: $0) }))) }
        guard let first = found.first else {
            let waiting = isWaiting == nil ? "" : "--waiting, "
            throw refuse("No downloads are selected. Pass --all, \(waiting)--user, --batch, --host or numbers.")
        }
        guard found.count == 1 else {
            let names = found.map(\.option)
            throw refuse(
                "\(names.dropLast().joined(separator: ", ")) and \(names.last!) exclude each other. Pass one of them.")
        }
        return first.selection
    }
}
