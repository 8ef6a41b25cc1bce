import Foundation
import SluiceFiles

/// Files on an nginx server, and the programs that download them into one directory.
struct Download {
    private let count: Int
    private let size: Int
    private let work: URL
    private let target: URL
    private let children: Children
    private let sluice: URL
    private let curl: URL
    /// With a certificate, the server uses TLS and HTTP/2.
    private let certificate: Nginx.Certificate?

    /// Makes the files in `directory` and serves them while `body` runs.
    ///
    /// - Parameters:
    ///   - rate: How many MiB per second each connection gets at most.
    ///   - roundTrip: How many milliseconds a round trip to the server takes.
    static func with(
        _ count: Int, of size: Int, in directory: URL, rate: Int? = nil, roundTrip: Int? = nil,
        usesHTTP2: Bool = false, _ stage: Stage, _ body: (Download) async throws -> Void
    ) async throws {
        let certificate = usesHTTP2 ? try await Nginx.Certificate.create(in: directory) : nil
        let download = Download(
            count: count, size: size, work: directory, target: directory.appending(path: "target"),
            children: Children(childUsage: stage.childUsage, report: directory.appending(path: "usage")),
            sluice: try Programs.existing(stage.sluice, remedy: "run `swift build -c release`, or pass --sluice"),
            curl: try Programs.found("curl"), certificate: certificate)
        let root = directory.appending(path: "root")
        try await FileIO.shared.createDirectory(at: root)
        for index in 0..<count {
            try await content(index, size).asyncWrite(
                to: root.appending(path: "\(index).bin"), options: .init(durability: .none))
        }
        try await Nginx.serve(
            root, work: directory, childUsage: stage.childUsage, rate: rate, certificate: certificate
        ) { port in
            guard let roundTrip else {
                try await download.writeLists(port: port)
                return try await body(download)
            }
            try await DelayingRelay.serve(port, roundTrip: roundTrip, childUsage: stage.childUsage) { port in
                try await download.writeLists(port: port)
                try await body(download)
            }
        }
    }

    // MARK: Contenders

    func sluice(durability: String? = nil, jobs: Int = 8, _ options: [String] = []) async throws -> Sample {
        let level = durability.map { ["--durability", $0] } ?? []
        let version = certificate.map { ["--http2", "--ca-file", $0.file.path] } ?? []
        return try await fetch(
            sluice, ["get", "-q", "-j", "\(jobs)", "-d", target.path, "-i", list.path] + version + level + options)
    }

    /// The files with their SHA-256 as a checksum list. Call ``writeChecksums()`` before.
    func sluiceVerifying() async throws -> Sample {
        try await sluice(durability: "none", ["--checksum-file", checksums.path])
    }

    func aria2cInSegments(_ count: Int) async throws -> Sample {
        try await fetch(
            try Programs.found("aria2c"),
            [
                "-q", "--no-conf", "--file-allocation=falloc", "-x", "\(count)", "-s", "\(count)", "-k", "4M", "-d",
                target.path,
                "-i", list.path,
            ])
    }

    /// With `thenSync`, a shell runs curl and then sync(1), and the sample includes both.
    func curl(jobs: Int = 8, thenSync: Bool = false) async throws -> Sample {
        let version = certificate.map { ["--http2", "--cacert", $0.file.path] } ?? ["--http1.1"]
        let arguments = ["-s", "--parallel", "--parallel-max", "\(jobs)", "--create-dirs", "-K", config.path] + version
        guard thenSync else { return try await fetch(curl, arguments) }
        return try await fetch(
            try Programs.found("sh"),
            ["-c", "directory=$1; shift; \"$@\" && sync \"$directory\"/*", "sh", target.path, curl.path] + arguments)
    }

    func wget2() async throws -> Sample {
        try await fetch(
            try Programs.found("wget2"),
            ["-q", "--no-config", "--max-threads", "8", "-P", target.path, "-i", list.path])
    }

    func aria2c() async throws -> Sample {
        try await fetch(
            try Programs.found("aria2c"),
            [
                "-q", "--no-conf", "--file-allocation=none", "-j", "8", "-x", "1", "-d", target.path, "-i", list.path,
            ])
    }

    /// What the files take at exactly this rate, in bytes per second.
    func atRate(_ rate: Int) -> Sample {
        Sample(
            operations: count, bytes: count * size, seconds: Double(count * size) / Double(rate), processorSeconds: 0,
            peakBytes: 0)
    }

    /// Runs sluice without work, and counts the run as that many operations.
    func idle(operations: Int = 1) async throws -> Sample {
        try await children.run(sluice, ["--help"]).sample(operations: operations, bytes: 0)
    }

    /// Downloads the files, so that ``sluiceWithNothingToDo()`` finds them.
    func prepareTargets() async throws {
        _ = try await children.run(
            sluice, ["get", "-q", "--durability", "none", "-j", "8", "-d", target.path, "-i", list.path])
        try await checkFiles()
    }

    /// Runs sluice while all files exist.
    func sluiceWithNothingToDo() async throws -> Sample {
        let usage = try await children.run(
            sluice,
            ["get", "-q", "--durability", "none", "--no-clobber", "-j", "8", "-d", target.path, "-i", list.path])
        try await checkFiles()
        return usage.sample(operations: count, bytes: 0)
    }

    private func fetch(_ program: URL, _ arguments: [String]) async throws -> Sample {
        let usage = try await children.run(program, arguments)
        try await checkFiles()
        try await FileIO.shared.removeTree(target)
        return usage.sample(operations: count, bytes: count * size)
    }

    // MARK: Files

    private var list: URL { work.appending(path: "list") }
    private var config: URL { work.appending(path: "curl.config") }
    private var checksums: URL { work.appending(path: "SHA256SUMS") }

    /// Writes a checksum list of the files.
    func writeChecksums() async throws {
        let process = Process()
        process.executableURL = try Programs.found("sha256sum")
        process.arguments = (0..<count).map { "\($0).bin" }
        process.currentDirectoryURL = work.appending(path: "root")
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        try await output.fileHandleForReading.readToEnd()?.asyncWrite(to: checksums)
        process.waitUntilExit()
    }

    private func writeLists(port: UInt16) async throws {
        var (list, config) = ("", "")
        for index in 0..<count {
            let url = "\(certificate == nil ? "http" : "https")://127.0.0.1:\(port)/\(index).bin"
            list += "\(url)\n"
            config += "url = \"\(url)\"\noutput = \"\(target.path)/\(index).bin\"\n"
        }
        try await Data(list.utf8).asyncWrite(to: self.list)
        try await Data(config.utf8).asyncWrite(to: self.config)
    }

    /// The contents of a file: its number repeated, so that all files differ.
    private static func content(_ index: Int, _ size: Int) -> Data {
        let block = Data("file \(index) ".utf8)
        var data = Data(capacity: size + block.count)
        while data.count < min(size, 4096) { data.append(block) }
        while data.count < size { data.append(data) }
        return data.prefix(size)
    }

    /// Checks the names and sizes of all files, and every byte of the first and the last one. (Scripts/checks/get-from-nginx.py compares
    /// every byte of every file.)
    private func checkFiles() async throws {
        let names = try FileManager.default.contentsOfDirectory(atPath: target.path)
        try check(names.count, count)
        for index in 0..<count {
            let file = target.appending(path: "\(index).bin")
            try check(Int(try await FileIO.shared.status(of: file)?.size ?? -1), size)
            if index == 0 || index == count - 1 {
                let isSame = try await Data(asyncContentsOf: file) == Self.content(index, size)
                if !isSame { throw RowFailure.wrongResult("\(index).bin differs from the file of the server") }
            }
        }
    }
}
