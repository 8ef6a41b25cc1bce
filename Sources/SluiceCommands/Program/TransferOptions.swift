import ArgumentParser
import HTTPTypes
import SluiceDownloads
import SluiceFiles
import SluiceHTTP

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The options of the commands that run downloads: `sluice get` and `sluice queue work`.
struct TransferOptions: ParsableArguments {
    @Option(
        name: [.customShort("j", allowingJoined: true), .customLong("jobs")],
        help: .init("Concurrent downloads in total, 1 to 1024.", valueName: "n"))
    var jobs = 8

    @Option(
        help: .init("Concurrent downloads per host and port, 1 to 1024. (default: as many as -j)", valueName: "n"))
    var perHost: Int?

    @Option(
        help: .init(
            "Concurrent downloads per user (user= in a list), 1 to 1024. (default: as many as -j)", valueName: "n"))
    var perUser: Int?

    @Option(
        help: .init(
            "Connections for each large file, 1 to 64, if the server has ranges and the host has room (--per-host).",
            valueName: "n"))
    var segments = 1

    @Option(
        help: .init("The smallest part of a file that gets a connection of its own, at least 64k.", valueName: "size"))
    var minSegmentSize = ByteCount.segment

    @Flag(
        help: """
            Also download segments from the other servers that a response names (Link fields with rel=duplicate). Needs --segments.
            """)
    var followDuplicates = false

    @Option(help: .init("Retries of each download after temporary failures, 0 to 1000.", valueName: "n"))
    var retries = 3

    @Flag(help: "Replace existing files, each when its new content is complete.")
    var overwrite = false

    @Flag(help: "Skip existing files and count them as done. (default: an existing file is an error)")
    var noClobber = false

    @Flag(
        name: [.customShort("N"), .customLong("newer")],
        help: """
            Replace existing files only if the server has newer ones. The files get the server's times, as with --remote-time.
            """)
    var isNewer = false

    @Flag(help: "Give files the server's modification times (Last-Modified).")
    var remoteTime = false

    @Flag(
        help: """
            Store each file's URL (without secrets) and its SHA-256 in the file's extended attributes, for 'sluice verify'.
            """)
    var xattr = false

    @Option(
        help: .init(
            """
            Bars or lines on standard error, or JSON lines on standard output. With auto, bars on a terminal and lines elsewhere.
            """, valueName: "style"))
    var progress = ProgressStyle.auto

    @Flag(name: [.customShort("q"), .customLong("quiet")], help: "Show only errors, as --progress none does.")
    var isQuiet = false

    @Option(help: .init("Seconds to wait for a connection, 0.001 to 86400.", valueName: "s"))
    var connectTimeout = Seconds(15)

    @Option(
        help: .init("Seconds without data after which a download fails as stalled, 0.001 to 86400.", valueName: "s"))
    var timeout = Seconds(60)

    @Option(
        help: .init("Bytes per second of all downloads together, such as 2M. (default: no limit)", valueName: "size"))
    var limitRate: ByteCount?

    @Option(help: .init("Bytes per second of the downloads from each host, such as 500k.", valueName: "size"))
    var limitRatePerHost: ByteCount?

    @Option(
        help: .init(
            "Seconds that each attempt may take, 0.001 to 86400; a later run continues the file.", valueName: "s"))
    var maxTime: Seconds?

    @Option(
        help: .init(
            """
            The lowest rate: a download that receives less than this many bytes per second, for this many seconds, fails and is \
            retried. For example 10k:30.
            """, valueName: "size:s"))
    var minSpeed: SpeedFloor?

    @Option(help: .init("The largest file to download, such as 1G.", valueName: "size"))
    var maxSize: ByteCount?

    @Flag(
        help: """
            Let servers compress files (gzip, br or zstd), and store them decoded. They can't be resumed, and --max-size limits the \
            decoded size.
            """)
    var compressed = false

    @Option(
        help: .init(
            """
            A proxy such as http://proxy.example:8080 or socks5h://127.0.0.1:1080, or none. (default: the variables http_proxy, \
            https_proxy, all_proxy and no_proxy)
            """, valueName: "url"))
    var proxy: String?

    @Option(
        help: .init("A PEM file of the certificate authorities to trust. (default: the system's)", valueName: "file"))
    var caFile: String?

    @Option(help: .init("A PEM file with the certificate for servers that require one.", valueName: "file"))
    var cert: String?

    @Option(help: .init("A PEM file with the key of --cert. (default: the file of --cert)", valueName: "file"))
    var key: String?

    @Option(
        help: .init(
            """
            What survives a power failure: nothing for certain (none), the data of complete files (data), or their data and \
            names (full).
            """, valueName: "level"))
    var durability = DurabilityOption.data

    @Flag(
        name: [.customShort("v"), .customLong("verbose")],
        help: """
            Show the header fields and timings of all requests and responses on standard error, without secrets, and the progress \
            as lines.
            """)
    var isVerbose = false

    @Option(
        help: .init(
            """
            Write the header fields and timings of all requests and responses to this file, without secrets; - means standard \
            error.
            """, valueName: "file"))
    var trace: String?

    /// Returns the checked values. Throws a message about the first invalid option, which refers to the help of `command`.
    func checked(for command: String) throws(CommandFailure) -> TransferSettings {
        func refuse(_ line: String) -> CommandFailure {
            CommandFailure(.usage, "\(line) See 'sluice \(command) --help'.")
        }
        guard (1...1024).contains(jobs) else {
            throw refuse("-j \(jobs): The number of concurrent downloads must be from 1 to 1024.")
        }
        guard (1...64).contains(segments) else {
            throw refuse("--segments \(segments): The number of connections for a file must be from 1 to 64.")
        }
        guard minSegmentSize.bytes >= 64_000 else {
            throw refuse("--min-segment-size \(minSegmentSize.bytes): The size must be at least 64k.")
        }
        guard !followDuplicates || segments > 1 else {
            throw refuse("--follow-duplicates: Pass --segments, because other servers get only segments.")
        }
        // A download has its connections and a partial file. The process itself needs some descriptors, too.
        let each = segments + 1
        if let files = ProcessTerminal.allowOpenFiles(), files < jobs * each + 64 {
            let possible = (files - 64) / each
            let remedy = possible < 1 ? "Raise" : "Pass -j \(possible), or raise"
            throw refuse("-j \(jobs): This process may open only \(files) files. \(remedy) the limit with ulimit -n.")
        }
        for (option, limit) in [("--per-host", perHost), ("--per-user", perUser)] {
            guard limit.map((1...1024).contains) ?? true else {
                throw refuse("\(option) \(limit!): The number must be from 1 to 1024.")
            }
        }
        guard (0...1000).contains(retries) else {
            throw refuse("--retries \(retries): The number must be from 0 to 1000.")
        }
        guard connectTimeout.isAllowed else {
            throw refuse("--connect-timeout \(connectTimeout): The seconds must be from 0.001 to 86400.")
        }
        guard timeout.isAllowed else {
            throw refuse("--timeout \(timeout): The seconds must be from 0.001 to 86400.")
        }
        for (option, rate) in [("--limit-rate", limitRate), ("--limit-rate-per-host", limitRatePerHost)] {
            guard rate.map({ $0.bytes >= 1 }) ?? true else {
                throw refuse("\(option) \(rate!.bytes): The rate must be at least 1 byte per second.")
            }
        }
        guard maxTime?.isAllowed ?? true else {
            throw refuse("--max-time \(maxTime!): The seconds must be from 0.001 to 86400.")
        }
        if let minSpeed, let problem = minSpeed.problem { throw refuse("--min-speed \(minSpeed.text): \(problem)") }
        if let proxy, let problem = Self.problem(ofProxy: proxy) { throw refuse("--proxy\(problem)") }
        guard key == nil || cert != nil else {
            throw refuse("--key: The key needs a certificate. Pass it with --cert.")
        }
        guard trace != "" else {
            throw refuse("--trace: The file name is empty. Name a file, or - for standard error.")
        }
        let traceOutput = Trace.Output(file: trace == "-" ? nil : trace, isOnConsole: isVerbose || trace == "-")
        guard !traceOutput.isOnConsole || progress != .bar || isQuiet else {
            throw refuse(
                isVerbose
                    ? "-v: The bars would overwrite the header fields. Leave out --progress bar, or use --trace with a file."
                    : "--trace -: The bars would overwrite the trace. Name a file, or pass --progress lines.")
        }
        guard !(overwrite && noClobber) else {
            throw refuse("--overwrite and --no-clobber can't be combined. Use only one.")
        }
        for (option, isSet) in [("--overwrite", overwrite), ("--no-clobber", noClobber)] where isSet && isNewer {
            throw refuse("--newer and \(option) can't be combined. Use only one.")
        }
        guard segments == 1 || !compressed else {
            throw refuse(
                "--segments and --compressed can't be combined, because a compressed file has no segments. Use only one."
            )
        }
        var division = DownloadCoordinator.Segments(count: segments, minimumSize: minSegmentSize.bytes)
        division.usesDuplicates = followDuplicates
        return TransferSettings(
            limits: DownloadCoordinator.Limits(total: jobs, perHost: perHost, perUser: perUser), retries: retries,
            existing: overwrite || isNewer ? .replace : noClobber ? .skip : .fail, onlyIfNewer: isNewer,
            keepsServerTime: remoteTime || isNewer, storesOrigins: xattr,
            progress: isQuiet ? .none : traceOutput.isOnConsole && progress == .auto ? .lines : progress,
            connectTimeout: .seconds(connectTimeout.value), timeout: .seconds(timeout.value),
            segments: segments > 1 ? division : nil,
            rates: .init(total: limitRate.map { Int($0.bytes) }, perHost: limitRatePerHost.map { Int($0.bytes) }),
            isCompressed: compressed,
            maximumTime: maxTime.map { .seconds($0.value) }, maximumSize: maxSize?.bytes,
            minimumRate: minSpeed.map { .init(bytesPerSecond: Int($0.bytes), over: .seconds($0.seconds)) },
            durability: durability.level,
            proxy: proxy.map { $0 == "none" ? .none : ProxySettings($0) } ?? .environment,
            tls: .init(caFile: caFile, certificate: cert, key: key), trace: traceOutput)
    }

    /// Returns a message about an invalid proxy; `nil` if the proxy is valid. The message repeats nothing of the proxy except its scheme.
    private static func problem(ofProxy text: String) -> String? {
        guard text != "none" else { return nil }
        guard !text.isEmpty else { return ": The proxy is empty. Name one, or pass none." }
        guard let problem = ProxySettings.problem(of: text) else { return nil }
        let scheme = text.firstRange(of: "://").map { text[..<$0.lowerBound] } ?? "http"
        let isScheme = scheme.utf8.allSatisfy { byte in
            (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20) || "0123456789+-.".utf8.contains(byte)
        }
        return
            "\(isScheme ? " \(scheme)://…" : ""): \(problem.prefix(1).uppercased())\(problem.dropFirst()). \(ProxySettings.remedy)"
    }
}

extension ByteCount {
    /// The default of `--min-segment-size`.
    fileprivate static let segment = ByteCount(argument: "4M")!
}

enum DurabilityOption: String, ExpressibleByArgument, CaseIterable {
    case none, data, full

    var level: Durability {
        switch self {
        case .none: .none
        case .data: .data
        case .full: .fullAndDirectory
        }
    }
}

/// A duration in seconds, as an argument.
struct Seconds: ExpressibleByArgument, CustomStringConvertible {
    var value: Double

    init(_ value: Double) { self.value = value }

    init?(argument: String) {
        guard let value = Double(argument) else { return nil }
        self.value = value
    }

    /// A much smaller number would be zero as a `Duration`, which counts attoseconds.
    var isAllowed: Bool { value >= 0.001 && value <= 86_400 }

    /// The number; a whole number has no decimal point.
    var description: String { Int(exactly: value).map(String.init) ?? "\(value)" }
}

/// A rate and a time as an argument, such as `10k:30`.
struct SpeedFloor: ExpressibleByArgument {
    var text: String
    var bytes: Int64
    var seconds: Double

    init?(argument: String) {
        let parts = argument.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 2, let rate = ByteCount(argument: String(parts[0])),
            let time = Seconds(argument: String(parts[1]))
        else { return nil }
        (text, bytes, seconds) = (argument, rate.bytes, time.value)
    }

    var problem: String? {
        if bytes < 1 { return "The rate must be at least 1 byte per second." }
        return Seconds(seconds).isAllowed ? nil : "The seconds must be from 0.001 to 86400."
    }
}

// MARK: - The checked values

/// The checked values of ``TransferOptions``.
package struct TransferSettings: Sendable {
    var limits: DownloadCoordinator.Limits
    var retries: Int
    var existing: ExistingFile
    var onlyIfNewer: Bool
    var keepsServerTime: Bool
    var storesOrigins = false
    var progress: ProgressStyle
    var connectTimeout: Duration
    var timeout: Duration
    var segments: DownloadCoordinator.Segments?
    /// `--limit-rate` and `--limit-rate-per-host`.
    var rates: DownloadCoordinator.MaximumRates
    var isCompressed = false
    var maximumTime: Duration?
    var maximumSize: Int64?
    var minimumRate: DownloadCoordinator.MinimumRate?
    var durability: Durability
    var proxy: ProxySettings
    var connections = ConnectionSettings()
    var tls: TLSFiles
    /// `--trace` and `--verbose`.
    var trace: Trace.Output

    /// `--ca-file`, `--cert` and `--key`.
    struct TLSFiles: Sendable {
        var caFile: String?
        var certificate: String?
        var key: String?
    }

    func transport(_ trace: Trace?) -> HTTPTransport.Configuration {
        var configuration = HTTPTransport.Configuration(
            connectTimeout: connectTimeout, stallTimeout: timeout, userAgent: "sluice/\(SluiceVersion.current)",
            proxy: proxy, certificateAuthorities: tls.caFile.map { URL(filePath: $0) },
            clientCertificate: tls.certificate.map { URL(filePath: $0) }, clientKey: tls.key.map { URL(filePath: $0) },
            connections: connections)
        configuration.trace = trace?.note
        return configuration
    }

    var coordinator: DownloadCoordinator.Configuration {
        var configuration = DownloadCoordinator.Configuration(
            retries: RetryPolicy(maximumRetries: retries), existing: existing, durability: durability)
        (configuration.maximumRate, configuration.maximumRatePerHost) = (rates.total, rates.perHost)
        (configuration.maximumTime, configuration.maximumSize) = (maximumTime, maximumSize)
        configuration.minimumRate = minimumRate
        configuration.segments = segments
        (configuration.onlyIfNewer, configuration.keepsServerTime) = (onlyIfNewer, keepsServerTime)
        configuration.decodesContent = isCompressed
        configuration.storesOrigins = storesOrigins
        return configuration
    }

    /// Throws if a TLS file can't be read. Otherwise, each download would fail with a message from the TLS library.
    func checkFiles() async throws {
        for (option, path) in [("--ca-file", tls.caFile), ("--cert", tls.certificate), ("--key", tls.key)] {
            guard let path else { continue }
            do {
                _ = try await Data(asyncContentsOf: URL(filePath: path), maximumSize: 64 << 20)
            } catch let error as FileError {
                throw CommandFailure(.localFile, "\(option): \(error)")
            }
        }
    }
}

// MARK: - Remedies that name options

extension TransferError {
    /// Whether there was no room for a file.
    var isFullDisk: Bool { [.noSpace, .quotaExceeded].contains((cause as? FileError)?.code) }

    /// What happened to the other downloads when this error ended the run, and what to do.
    func stopMessage(_ sameCommand: String) -> String {
        let other = isFullDisk ? ", or choose a directory on another disk with -d" : ""
        return "Stopped. Partial files that can be resumed are kept. Run \(sameCommand) to continue\(other)."
    }
}

extension DownloadEvent {
    /// The event with an error remedy that names the command's options.
    var namingOptions: DownloadEvent {
        guard case .finished(let job, .failed(var error)) = self else { return self }
        switch error.code {
        // If the remedy differs, it is about the files of --cert and --key.
        case .tlsFailed where error.remedy == TransferError(.tlsFailed, url: error.url).remedy:
            error.remedy =
                "Check the host's certificate and this machine's clock. Pass --ca-file to name another certificate authority."
        case .status where error.status?.code == 401:
            error.remedy = "Pass credentials that the server accepts with --auth or --netrc."
        // If the remedy differs, it is about the server or the URL.
        case .digestMismatch where error.remedy == TransferError.remedyForExistingFile:
            error.remedy = "Pass --overwrite to replace it, or choose another name or directory."
        case .invalidCredentials: error.remedy = "Remove the control characters from the netrc file's entry."
        case .proxyFailed:
            error.remedy =
                "Check the address, user name and password in --proxy, or in http_proxy, https_proxy and all_proxy."
        case .connectTimedOut:
            error.remedy = "Check the host and the network, or pass --connect-timeout to wait longer."
        case .stalled: error.remedy = "Try again later, or pass --timeout to wait longer."
        case .tooSlow: error.remedy = "Try again later, or pass a lower --min-speed."
        case .tooLarge: error.remedy = "Pass a larger --max-size, or leave out the URL."
        case .tookTooLong: error.remedy = "Pass a longer --max-time, or run the same command to continue."
        case .alreadyQueued: error.remedy = "Pass -o for another name, or --db for another queue."
        case .fileExists: error.remedy = "Pass --overwrite to replace it, or --no-clobber to skip it."
        default: break
        }
        return .finished(download: job, outcome: .failed(error))
    }
}
