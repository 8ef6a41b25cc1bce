import ArgumentParser
import SluiceDownloads

struct QueueLimitCommand: ConsoleCommand {
    static let configuration = CommandConfiguration(
        commandName: "limit",
        abstract: "Limits the rate of all workers of a queue together, or shows the limits.",
        discussion: """
            The queue stores the limits, and its workers follow them while they run. The workers that have running downloads get equal \
            parts. A worker's own --limit-rate applies, too.

            EXAMPLES:
              Leave most of the connection to others during the day:
                sluice queue limit --db songs.db --limit-rate 2M
              Take the limit away at night:
                sluice queue limit --db songs.db --limit-rate none
              Be gentle with each server, whatever the total is:
                sluice queue limit --db songs.db --limit-rate-per-host 500k
              Show the limits:
                sluice queue limit --db songs.db
            """)

    @OptionGroup
    var queue: QueueOption

    @Option(help: .init("Bytes per second of all downloads together, such as 2M, or none.", valueName: "size"))
    var limitRate: RateLimitArgument?

    @Option(
        help: .init("Bytes per second of the downloads from each host, such as 500k, or none.", valueName: "size"))
    var limitRatePerHost: RateLimitArgument?

    @Flag(help: "Print one JSON object with the limits.")
    var json = false

    /// The JSON of the command: the limits in bytes per second.
    private struct Report: Encodable {
        var maximumRate: Int?
        var maximumRatePerHost: Int?

        /// A limit that isn't there is `null`.
        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(maximumRate, forKey: .maximumRate)
            try container.encode(maximumRatePerHost, forKey: .maximumRatePerHost)
        }

        private enum CodingKeys: CodingKey { case maximumRate, maximumRatePerHost }
    }

    func run(_ console: Console) async throws -> ExitStatus {
        let (total, perHost) = (limitRate, limitRatePerHost)
        for (option, rate) in [("--limit-rate", total), ("--limit-rate-per-host", perHost)] where rate?.rate == 0 {
            throw CommandFailure(
                .usage,
                "\(option) 0: The rate must be at least 1 byte per second. Pass none for no limit. See 'sluice queue limit --help'."
            )
        }
        let rates = try await QueueDatabase(name: queue.db, command: "limit").withQueue { downloads in
            var rates = try await downloads.queueRates()
            guard total != nil || perHost != nil else { return rates }
            if let total { rates.total = total.rate }
            if let perHost { rates.perHost = perHost.rate }
            try await downloads.setQueueRates(rates)
            return rates
        }
        let report = Report(maximumRate: rates.total, maximumRatePerHost: rates.perHost)
        await console.write(json ? try CommandJSON.line(report) : Self.text(rates), to: .output)
        return .success
    }

    private static func text(_ rates: DownloadCoordinator.MaximumRates) -> String {
        func limit(_ rate: Int?) -> String { rate.map { Format.rate(Double($0)) } ?? "no limit" }
        return "all downloads:  \(limit(rates.total))\neach host:      \(limit(rates.perHost))\n"
    }
}

/// A number of bytes per second, or `none`.
struct RateLimitArgument: ExpressibleByArgument, Sendable, Equatable {
    /// `nil` for no limit.
    var rate: Int?

    init?(argument: String) {
        if argument == "none" { return }
        guard let count = ByteCount(argument: argument) else { return nil }
        rate = Int(count.bytes)
    }
}
