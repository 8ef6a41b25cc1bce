import ArgumentParser
import SluiceHTTP

/// The options about how to connect to servers. `sluice get` and `sluice queue work` have them.
struct ConnectionOptions: ParsableArguments {
    enum Version: EnumerableFlag {
        case http1, http2

        static func name(for version: Version) -> NameSpecification {
            switch version {
            case .http1: .customLong("http1.1")
            case .http2: .customLong("http2")
            }
        }

        static func help(for version: Version) -> ArgumentHelp? {
            switch version {
            case .http1: "Use HTTP/1.1, with a connection for each running download. (default)"
            case .http2:
                """
                Use HTTP/2 with https if the server has it: the downloads from a server share a connection, or two, and its TLS \
                handshake. Each may take 32 MiB of memory while the disk or --limit-rate is slower than the network.
                """
            }
        }
    }

    enum Family: EnumerableFlag {
        case ipv4, ipv6

        static func name(for family: Family) -> NameSpecification {
            switch family {
            case .ipv4: [.customShort("4"), .customLong("ipv4")]
            case .ipv6: [.customShort("6"), .customLong("ipv6")]
            }
        }

        static func help(for family: Family) -> ArgumentHelp? {
            switch family {
            case .ipv4: "Connect only to IPv4 addresses."
            case .ipv6: "Connect only to IPv6 addresses."
            }
        }
    }

    // The last one counts, so that an argument can replace what the configuration file says.
    @Flag(exclusivity: .chooseLast)
    var version: Version?

    @Flag(exclusivity: .chooseLast)
    var family: Family?

    @Option(
        help: .init(
            "Connect to this address instead of looking the host up: HOST:PORT:ADDRESS. Repeatable.",
            valueName: "address"))
    var resolve: [String] = []

    @Option(
        help: .init("Connect from this network interface, by its name or one of its addresses.", valueName: "name"))
    var interface: String?

    @Option(help: .init("Send all requests through this Unix socket, without a proxy.", valueName: "path"))
    var unixSocket: String?

    /// Returns the checked values. `proxy` is the value of `--proxy`.
    func checked(for command: String, proxy: String?) throws(CommandFailure) -> ConnectionSettings {
        func refuse(_ line: String) -> CommandFailure {
            CommandFailure(.usage, "\(line) See 'sluice \(command) --help'.")
        }
        var settings = ConnectionSettings(interface: interface, unixSocket: unixSocket)
        settings.version = version == .http2 ? .http2 : .http1
        settings.addressFamily = family.map { $0 == .ipv4 ? .ipv4 : .ipv6 }
        for text in resolve {
            do throws(ConnectionSettings.FixedAddress.Invalid) {
                settings.fixedAddresses.append(try .init(text))
            } catch {
                throw refuse("--resolve \(text): \(error)")
            }
        }
        if let interface, let problem = ConnectionSettings.problem(ofInterface: interface) {
            throw refuse("--interface \(interface): \(Self.sentence(problem)) Use a name that 'ip link' lists.")
        }
        if let unixSocket {
            if let problem = ConnectionSettings.problem(ofSocket: unixSocket) {
                throw refuse("--unix-socket: \(Self.sentence(problem)) Name the socket of a server on this machine.")
            }
            guard proxy == nil || proxy == "none" else {
                throw refuse("--unix-socket and --proxy can't be combined. Use only one.")
            }
            guard interface == nil else {
                throw refuse("--unix-socket and --interface can't be combined. Use only one.")
            }
        }
        return settings
    }

    private static func sentence(_ text: String) -> String { "\(text.prefix(1).uppercased())\(text.dropFirst())." }
}
