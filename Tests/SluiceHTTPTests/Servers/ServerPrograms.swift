import Foundation
import TestSupport
import Testing

@testable import SluiceHTTP

/// Servers of the system that tests start: nginx, tinyproxy, microsocks and the certificates that openssl makes.
enum ServerPrograms {
    static let all = ["nginx", "openssl", "tinyproxy", "microsocks"]

    /// Where a program is, or nil.
    static func path(_ name: String) -> String? {
        ["/usr/sbin/", "/usr/bin/", "/sbin/", "/usr/local/bin/"].map { $0 + name }
            .first { FileManager.default.isExecutableFile(atPath: $0) }
    }

    /// Whether tests with them run. Where `SLUICE_REQUIRE_SERVERS` is set, as in CI, they do in any case: a program that is missing fails them.
    static var areThere: Bool {
        ProcessInfo.processInfo.environment["SLUICE_REQUIRE_SERVERS"] != nil || all.allSatisfy { path($0) != nil }
    }

    struct Failed: Error, CustomStringConvertible {
        var description: String
    }

    static func process(_ name: String, _ arguments: [String], in directory: URL) throws -> (Process, Pipe) {
        guard let path = path(name) else {
            throw Failed(description: "\(name) is missing; run Scripts/install-system-packages.sh")
        }
        let (process, output) = (Process(), Pipe())
        process.executableURL = URL(filePath: path)
        process.arguments = arguments
        process.currentDirectoryURL = directory
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = output
        process.standardError = output
        return (process, output)
    }

    /// Runs a program to its end.
    static func run(_ name: String, _ arguments: [String], in directory: URL) async throws {
        let result = await offPool { () -> Result<(Int32, String), any Error> in
            Result {
                let (process, output) = try process(name, arguments, in: directory)
                try process.run()
                let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
                process.waitUntilExit()
                return (process.terminationStatus, text)
            }
        }
        let (status, text) = try result.get()
        guard status == 0 else {
            throw Failed(description: "\(name) \(arguments.joined(separator: " ")) ended with \(status): \(text)")
        }
    }

    /// Starts a server, waits until each of its ports takes connections, and ends it after `body`.
    ///
    /// - Parameter prepare: Writes what the server needs, and returns its arguments. It is called again with other ports if the server ends
    ///   before it listens: another process may have taken one of them.
    static func serve<Result>(
        _ name: String, ports count: Int, in directory: URL, _ prepare: ([UInt16]) throws -> [String],
        during body: ([UInt16]) async throws -> Result
    ) async throws -> Result {
        var attempts = 0
        while true {
            // Free now, and all different since they are held together.
            let ports = try (0..<count).map { _ in try UnheardPort() }.map(\.number)
            let (process, output) = try process(name, try prepare(ports), in: directory)
            try process.run()
            defer {
                // The threads of the pool block SIGTERM, and what they start does so too.
                if process.isRunning { kill(process.processIdentifier, SIGKILL) }
                process.waitUntilExit()
            }
            if try await isReady(process, ports) { return try await body(ports) }
            attempts += 1
            guard attempts < 5 else {
                let text = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
                throw Failed(description: "\(name) does not start: \(text)")
            }
        }
    }

    /// Waits until all ports take connections; false if the server ends before.
    private static func isReady(_ process: Process, _ ports: [UInt16]) async throws -> Bool {
        while try await !listens(on: ports) {
            guard process.isRunning else { return false }
            // These servers don't report when they listen: the port has to be tried.
            try await Task.sleep(for: .milliseconds(20))
        }
        return true
    }

    private static func listens(on ports: [UInt16]) async throws -> Bool {
        for port in ports {
            do {
                let url = URL(string: "http://127.0.0.1:\(port)/")!
                try await HTTPTransport.withTransport(configuration: .init(proxy: .none)) {
                    _ = try await $0.open(.init(url))
                }
            } catch let error as TransferError where error.code == .connectionRefused {
                return false
            } catch is TransferError {}
        }
        return true
    }

    /// A temporary directory for one test.
    static func withDirectory<Result>(_ body: (URL) async throws -> Result) async throws -> Result {
        let directory = FileManager.default.temporaryDirectory.appending(path: "sluice-servers-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        return try await body(directory)
    }
}

// MARK: - A port without a server

/// A port of 127.0.0.1 that is taken, and refuses connections: its socket is bound and does not listen (tcp(7)).
final class UnheardPort: Sendable {
    let number: UInt16
    private let descriptor: CInt

    init() throws {
        #if os(Linux)
        descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        #else
        descriptor = socket(AF_INET, SOCK_STREAM, 0)
        #endif
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let descriptor = descriptor
        let result = withUnsafeMutableBytes(of: &address) { bytes in
            let address = bytes.baseAddress!.assumingMemoryBound(to: sockaddr.self)
            return bind(descriptor, address, size) == 0 ? getsockname(descriptor, address, &size) : -1
        }
        number = UInt16(bigEndian: address.sin_port)
        guard result == 0 else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
    }

    deinit { close(descriptor) }
}
