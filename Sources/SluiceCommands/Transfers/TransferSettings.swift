import SluiceDownloads
import SluiceFiles
import SluiceHTTP

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The checked values of ``TransferOptions``.
package struct TransferSettings: Sendable {
    var limits: DownloadCoordinator.Limits
    var retries: Int
    var existing: ExistingFile
    var progress: ProgressStyle
    var connectTimeout: Duration
    var timeout: Duration
    var durability: Durability
    var proxy: ProxySettings
    var tls: TLSFiles
    /// The file for the trace; "-" for standard error, `nil` for no trace.
    var trace: String?

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
            clientCertificate: tls.certificate.map { URL(filePath: $0) }, clientKey: tls.key.map { URL(filePath: $0) })
        configuration.trace = trace?.note
        return configuration
    }

    var coordinator: DownloadCoordinator.Configuration {
        .init(retries: RetryPolicy(maximumRetries: retries), existing: existing, durability: durability)
    }

    /// Without this check, each download would fail with a message of the TLS library.
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

extension DownloadEvent {
    /// The event with the command's options in the remedy of its error.
    var namingOptions: DownloadEvent {
        guard case .finished(let job, .failed(var error)) = self else { return self }
        switch error.code {
        // Another remedy is about the files of --cert and --key.
        case .tlsFailed where error.remedy == TransferError(.tlsFailed, url: error.url).remedy:
            error.remedy =
                "Check the host's certificate and this machine's clock. Pass --ca-file to name another certificate authority."
        case .proxyFailed:
            error.remedy =
                "Check the address, user name and password in --proxy, or in http_proxy, https_proxy and all_proxy."
        case .connectTimedOut:
            error.remedy = "Check the host and the network, or pass --connect-timeout to wait longer."
        case .stalled: error.remedy = "Try again later, or pass --timeout to wait longer."
        case .alreadyQueued: error.remedy = "Pass -o for another name, or --db for another queue."
        case .fileExists: error.remedy = "Pass --overwrite to replace it, or --no-clobber to skip it."
        default: break
        }
        return .finished(job: job, outcome: .failed(error))
    }
}
