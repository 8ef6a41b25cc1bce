#if DEBUG
import Foundation
import FuzzTargets
import Testing

/// The inputs in Tests/Corpora, which Scripts/checks/fuzz.py has found: each reaches other code than the rest.
@Suite struct `Kept inputs of the parsers` {
    @Test(arguments: FuzzTarget.allCases) func `break no rule`(target: FuzzTarget) async throws {
        let log = FileManager.default.temporaryDirectory.appending(path: "sluice-inputs-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: log) }
        await #expect(processExitsWith: .success) { [target = target.rawValue as String, log = log as String] in
            for input in try `Kept inputs of the parsers`.inputs(of: target) {
                try Data(input.text.utf8).write(to: URL(filePath: log))
                FuzzTarget(rawValue: target)?.run(input.bytes)
            }
            try Data("finished".utf8).write(to: URL(filePath: log))
        }
        let last = try String(contentsOfFile: log, encoding: .utf8)
        #expect(last == "finished", "The input \(last) broke a rule.")
    }

    @Test func `are there for each parser, and for no other`() throws {
        let names = try FileManager.default.contentsOfDirectory(atPath: Self.directory.path)
        #expect(names.sorted() == FuzzTarget.allCases.map { "\($0.rawValue).jsonl" }.sorted())
        for target in FuzzTarget.allCases { #expect(try !Self.inputs(of: target.rawValue).isEmpty) }
    }

    private static let directory = URL(filePath: #filePath).appending(path: "../../Corpora").standardizedFileURL

    /// Each line is a JSON string, in which a character stands for a byte.
    static func inputs(of target: String) throws -> [(text: String, bytes: [UInt8])] {
        let file = directory.appending(path: "\(target).jsonl")
        return try String(contentsOf: file, encoding: .utf8).split(separator: "\n").map { line in
            let text = try JSONDecoder().decode(String.self, from: Data(line.utf8))
            return (String(line), text.unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) })
        }
    }
}
#endif
