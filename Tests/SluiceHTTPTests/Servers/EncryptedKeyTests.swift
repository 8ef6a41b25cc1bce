import Foundation
import LoopbackOrigin
import Testing

@testable import SluiceHTTP

@Suite(.enabled(if: ServerPrograms.areThere)) struct `An encrypted key of a client certificate` {
    @Test func `is an error, and nothing asks for its passphrase`() async throws {
        // A prompt would be written to standard error, and would read standard input.
        let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
            try await ServerPrograms.withDirectory { directory in
                let words =
                    "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -passout pass:secret -keyout key.pem -out a.pem"
                try await ServerPrograms.run(
                    "openssl", words.split(separator: " ").map(String.init) + ["-subj", "/CN=a"], in: directory)
                let configuration = HTTPTransport.Configuration(
                    connectTimeout: .seconds(600), proxy: .none, clientCertificate: directory.appending(path: "a.pem"),
                    clientKey: directory.appending(path: "key.pem"))
                try await LoopbackOrigin.serve { _ in
                    OriginResponse()
                } during: { origin in
                    let url = try URL(fetchable: origin.url("/").replacing("http:", with: "https:"))
                    try await HTTPTransport.withTransport(configuration: configuration) { transport in
                        do {
                            _ = try await transport.open(TransportRequest(url))
                            exit(EXIT_FAILURE)
                        } catch let error as TransferError {
                            guard error.code == .tlsFailed, error.remedy?.contains("encrypted") == true else {
                                exit(EXIT_FAILURE)
                            }
                        }
                    }
                }
            }
        }
        let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(!text.contains("pass phrase"), "\(text)")
    }
}
