import Foundation
import SluiceFiles

/// A Python cache. `Peers/cache-hits.py` times its hits in its own process.
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

    /// Stores the entries in an empty directory, and times `passes` lookups of each.
    func hits(size: Int, entries: Int, passes: Int) async throws -> Sample {
        let work = directory.appending(path: name)
        let report = directory.appending(path: "report")
        try await FileIO.shared.createDirectory(at: work)
        let script = Programs.project.appending(path: "Benchmarks/Peers/cache-hits.py")
        _ = try await children.run(
            try Programs.found("env"),
            [
                "PYTHONPATH=\(Self.packages.path)", "PYTHONDONTWRITEBYTECODE=1", "python3", script.path, name,
                work.path,
                "\(size)", "\(entries)", "\(passes)", report.path,
            ])
        try await FileIO.shared.removeTree(work)
        let text = String(decoding: try await Data(asyncContentsOf: report), as: UTF8.self)
        let numbers = text.split(whereSeparator: \.isWhitespace).compactMap { Double($0) }
        guard numbers.count == 3 else { throw RowFailure.wrongResult("\(name) reported “\(text)”") }
        try check(Int(numbers[2]), size * entries * passes)
        return Sample(
            operations: entries * passes, bytes: Int(numbers[2]), seconds: numbers[0], processorSeconds: numbers[1])
    }

    private static let packages = Programs.project.appending(path: ".build/benchmark-peers/python")
}
