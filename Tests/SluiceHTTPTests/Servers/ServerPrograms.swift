import Foundation
import TestSupport
import Testing

@testable import SluiceHTTP

/// Installed programs that tests run: the servers nginx, tinyproxy and microsocks, and openssl for certificates.
enum ServerPrograms {
    static let all = ["nginx", "openssl", "tinyproxy", "microsocks"]

    /// Returns the path of a program, or `nil` if it isn't installed.
    static func path(_ name: String) -> String? {
        ["/usr/sbin/", "/usr/bin/", "/sbin/", "/usr/local/bin/"].map { $0 + name }
            .first { FileManager.default.isExecutableFile(atPath: $0) }
    }

    /// Whether tests with these programs run. With `SLUICE_REQUIRE_SERVERS`, as in CI, they always run, and fail if one is missing.
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

    /// Runs a program and waits until it exits.
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

    /// Starts a server, waits until each of its ports accepts connections, calls `body`, and kills the server.
    ///
    /// - Parameter prepare: Writes the server's files, and returns its arguments. It is called again with other ports if the server exits
    ///   before it listens, because another process may have taken a port.
    static func serve<Result>(
        _ name: String, ports count: Int, in directory: URL, _ prepare: ([UInt16]) throws -> [String],
        during body: ([UInt16]) async throws -> Result
    ) async throws -> Result {
        var attempts = 0
        while true {
            // The ports are free, and all different because they are held at the same time.
            let ports = try (0..<count).map { _ in try UnheardPort() }.map(\.number)
            let (process, output) = try process(name, try prepare(ports), in: directory)
            try process.run()
            defer {
                // The pool's threads block SIGTERM, and the processes that they start inherit that.
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

    /// Waits until all ports accept connections. Returns false if the server exits first.
    private static func isReady(_ process: Process, _ ports: [UInt16]) async throws -> Bool {
        while try await !listens(on: ports) {
            guard process.isRunning else { return false }
            // These servers don't report when they listen, so poll the ports.
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

/// A reserved port on 127.0.0.1 that refuses connections, because its socket is bound but doesn't listen (tcp(7)).
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
