import Foundation
import SluiceFiles

/// A Python package. A script in `Peers` times it in a process of its own.
struct PythonPeer {
    private let name: String
    private let children: Children
    private let directory: URL

    /// Throws if the packages aren't installed.
    init(_ name: String, in directory: URL, _ stage: Stage) throws {
        guard FileManager.default.fileExists(atPath: Self.packages.appending(path: name).path) else {
            throw RowFailure.missing("\(name) is missing; run Scripts/run-benchmarks.sh --install-peers")
        }
        self.name = name
        self.directory = directory
        children = Children(childUsage: stage.childUsage, report: directory.appending(path: "usage"))
    }

    /// `Peers/cache-hits.py`: stores the entries in an empty directory, and times `passes` lookups of each.
    func hits(size: Int, entries: Int, passes: Int) async throws -> Sample {
        let work = directory.appending(path: name)
        try await FileIO.shared.createDirectory(at: work)
        let sample = try await run(
            "cache-hits.py", [name, work.path, "\(size)", "\(entries)", "\(passes)"], operations: entries * passes)
        try await FileIO.shared.removeTree(work)
        try check(sample.bytes, size * entries * passes)
        return sample
    }

    /// `Peers/markdown-html.py`: parses a file of Markdown and renders it as HTML once.
    func html(of file: URL, size: Int, expecting count: Int?) async throws -> Sample {
        var sample = try await run("markdown-html.py", [file.path], operations: 1)
        if let count { try check(sample.bytes, count) }
        sample.bytes = size
        return sample
    }

    /// Runs a script that writes seconds, processor seconds and a number of bytes to its last argument.
    private func run(_ script: String, _ arguments: [String], operations: Int) async throws -> Sample {
        let report = directory.appending(path: "report")
        let script = Programs.project.appending(path: "Benchmarks/Peers/\(script)")
        _ = try await children.run(
            try Programs.found("env"),
            ["PYTHONPATH=\(Self.packages.path)", "PYTHONDONTWRITEBYTECODE=1", "python3", script.path] + arguments
                + [report.path])
        let text = String(decoding: try await Data(asyncContentsOf: report), as: UTF8.self)
        let numbers = text.split(whereSeparator: \.isWhitespace).compactMap { Double($0) }
        guard numbers.count == 3 else { throw RowFailure.wrongResult("\(name) reported “\(text)”") }
        return Sample(
            operations: operations, bytes: Int(numbers[2]), seconds: numbers[0], processorSeconds: numbers[1])
    }

    private static let packages = Programs.project.appending(path: ".build/benchmark-peers/python")
}
