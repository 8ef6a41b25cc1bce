import ArgumentParser
import NativeMark
import SluiceCache
import SluiceDownloads
import SluiceHTTP

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

struct CacheVerifyCommand: ConsoleCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract: "Reads every response in a cache and reports damaged ones.",
        discussion: """
            The command compares the length and the SHA-256 of each body with the index, checks the index, and looks for files of the \
            cache that aren't in the index. Each problem is one line. A program that uses the cache never returns a damaged body: \
            it removes the response and fetches it again. So this command is only needed after trouble with the disk.

            EXAMPLES:
              Remove what is damaged:
                sluice cache verify --repair
              Count the problems by kind:
                sluice cache verify --json | jq -r 'select(.problem).problem' | sort | uniq -c

            The exit status is 9 if there was damage, even if it was repaired.
            """)

    @OptionGroup
    var cache: CacheOption

    @Flag(help: "Remove damaged responses and files that aren't in the index, and correct the sum of the sizes.")
    var `repair` = false

    @Flag(help: "Print one JSON object per line: one for each problem, then the numbers.")
    var json = false

    private struct Line: Encodable {
        var problem: String
        var url: String?
        var file: String
        var detail: String?
        var repaired: Bool
    }

    private struct Summary: Encodable {
        var entries: Int
        var bytes: Int64
        var problems: Int
        var repaired: Int
    }

    func run(_ console: Console) async throws -> ExitStatus {
        let result = try await cache.location(console).withDirectory { directory in
            try await directory.verify(isRepairing: `repair`) { problem in
                if json {
                    let line = Line(
                        problem: problem.kind.rawValue, url: problem.url.map(CacheTable.name(of:)),
                        file: problem.file.path(percentEncoded: false), detail: problem.detail,
                        repaired: problem.isRepaired)
                    if let text = try? CommandJSON.line(line) { await console.write(text, to: .output) }
                } else {
                    await console.write(TerminalText.sanitized(Self.text(for: problem)) + "\n", to: .output)
                }
            }
        }
        if json {
            let summary = Summary(
                entries: result.entries, bytes: result.bytes, problems: result.problems, repaired: result.repaired)
            await console.write(try CommandJSON.line(summary), to: .output)
        } else {
            await console.write(Self.text(for: result) + "\n", to: .output)
        }
        return result.problems == 0 ? .success : .content
    }

    private static func text(for problem: CacheDirectory.Problem) -> String {
        let subject = problem.url.map { "\(CacheTable.name(of: $0)) (\(problem.file.lastPathComponent))" }
        let text = "\(subject ?? problem.file.path(percentEncoded: false)): \(problem.kind.rawValue)"
        return text + (problem.detail.map { ": \($0)" } ?? "") + (problem.isRepaired ? ", repaired" : "")
    }

    private static func text(for result: CacheDirectory.Verification) -> String {
        let checked = "Checked \(Format.count(result.entries, "response")), \(Format.bytes(result.bytes))"
        guard result.problems > 0 else { return "\(checked): no damage." }
        let problems = "\(checked): \(Format.count(result.problems, "problem"))"
        let left = result.problems - result.repaired
        if result.repaired == 0 { return "\(problems). Pass --repair to remove damaged responses and stray files." }
        return left == 0
            ? "\(problems), all repaired." : "\(problems), \(left) not repaired. Remove the directory if they remain."
    }
}
