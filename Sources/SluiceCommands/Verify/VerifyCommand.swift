import ArgumentParser
import NativeMark
import SluiceDownloads
import SluiceFiles

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

struct VerifyCommand: ConsoleCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract: "Checks whether files are still what was downloaded.",
        discussion: """
            Each file is one line: OK, CHANGED, MISSING, or 'no evidence'. Directories are checked with their subdirectories. Nothing is \
            changed, and nothing is downloaded. The best evidence about a file counts:
              1. A list of checksums: --checksum-file, or a file in the directory that is called SHA256SUMS or SHA512SUMS (or \
            sha256sum.txt and the like). The names in it are relative to the directory. Files that it names and that aren't there are \
            missing.
              2. The checksum that 'get --xattr' has stored in the file's extended attributes.
              3. The record of 'get': for 30 days, the size, the time and the inode that the file had after the download. Its bytes \
            aren't read.

            EXAMPLES:
              Check a directory:
                sluice verify music
              Check files with a list from elsewhere:
                sluice verify --checksum-file SHA256SUMS image.iso
              Show only problems, as from a nightly job:
                sluice verify -q /srv/music
              List the changed files:
                sluice verify --json | jq -r 'select(.result == "changed").file'

            Hidden files and symbolic links are checked only if a list names them, and partial files never.

            The exit status is 9 if a file has changed or is missing, 3 if a file couldn't be read, and 1 if there is no evidence about \
            any file.
            """)

    @Argument(help: .init("The files and directories to check. (default: .)", valueName: "place"))
    var places: [String] = []

    @Option(
        help: .init(
            """
            A file of checksums, such as SHA256SUMS, whose names are relative to each directory. Repeatable.
            """, valueName: "file"))
    var checksumFile: [String] = []

    @Flag(help: "Don't use the records of 'sluice get'.")
    var noRecords = false

    @Flag(name: [.customShort("q"), .customLong("quiet")], help: "Show only problems.")
    var isQuiet = false

    @Flag(help: "Print one JSON object per line: one for each file, then the numbers.")
    var json = false

    func run(_ console: Console) async throws -> ExitStatus {
        guard !places.contains("") else {
            throw CommandFailure(
                .usage, "The name of a place is empty. Name a file or a directory. See 'sluice verify --help'.")
        }
        let checksums = try await ChecksumFile.read(checksumFile).map(\.list)
        let records = noRecords ? nil : console.stateDirectory.map { DownloadRecords(in: $0) }
        let verifier = DownloadVerifier(records: records, checksums: checksums)
        let output = VerifyOutput(isQuiet: isQuiet, isJSON: json, console: console)
        let urls = (places.isEmpty ? ["."] : places).map { URL(filePath: $0).absoluteURL.standardizedFileURL }
        let summary = try await verifier.verify(urls) { await output.show($0) }
        await output.show(summary)
        if let failure = records?.failure {
            await console.report(
                "Note: The records of downloads couldn't be read. \(failure) Pass --no-records to ignore them.")
        }
        let isUnverified = summary.intact == 0 && summary.changed == 0
        return ExitStatus.worst(
            of: [
                summary.failed > 0 ? .localFile : nil, summary.changed + summary.missing > 0 ? .content : nil,
                isUnverified ? .other : nil,
            ].compactMap(\.self))
    }
}

/// The lines of `sluice verify`.
private struct VerifyOutput: Sendable {
    private struct Line: Encodable {
        var file: String
        var result: String
        var evidence: String?
        var detail: String?
    }

    private struct Numbers: Encodable {
        var intact, changed, missing, unknown, failed: Int
        var bytes: Int64
    }

    let isQuiet: Bool
    let isJSON: Bool
    let console: Console
    private let current = URL(filePath: ".", directoryHint: .isDirectory).absoluteURL.standardizedFileURL
        .path(percentEncoded: false)

    init(isQuiet: Bool, isJSON: Bool, console: Console) {
        (self.isQuiet, self.isJSON, self.console) = (isQuiet, isJSON, console)
    }

    func show(_ finding: DownloadVerifier.Finding) async {
        let (result, word, detail): (String, String, String?) =
            switch finding.outcome {
            case .intact: ("intact", "OK", nil)
            case .changed(let detail): ("changed", "CHANGED", detail)
            case .missing: ("missing", "MISSING", nil)
            case .unknown: ("unknown", "no evidence", nil)
            case .failed(let error): ("failed", "FAILED", "\(error)")
            }
        if isQuiet, ["intact", "unknown"].contains(result) { return }
        let path = finding.file.path(percentEncoded: false)
        if isJSON {
            let line = Line(file: path, result: result, evidence: finding.evidence?.rawValue, detail: detail)
            if let text = try? CommandJSON.line(line) { await console.write(text, to: .output) }
        } else {
            let shown = path.hasPrefix(current) && path != current ? String(path.dropFirst(current.count)) : path
            let line = "\(shown): \(word)" + (detail.map { ": \($0)" } ?? "")
            await console.write(TerminalText.sanitized(line) + "\n", to: .output)
        }
    }

    func show(_ summary: DownloadVerifier.Summary) async {
        if isJSON {
            let numbers = Numbers(
                intact: summary.intact, changed: summary.changed, missing: summary.missing, unknown: summary.unknown,
                failed: summary.failed, bytes: summary.comparedBytes)
            if let text = try? CommandJSON.line(numbers) { await console.write(text, to: .output) }
        } else {
            await console.write(Self.text(summary) + "\n", to: .output)
        }
    }

    /// "Checked 12 files, 3.4 MB read: 10 OK, 1 changed, 1 missing."
    private static func text(_ summary: DownloadVerifier.Summary) -> String {
        let all = [
            (summary.intact, "OK"), (summary.changed, "changed"), (summary.missing, "missing"),
            (summary.failed, "failed"), (summary.unknown, "without evidence"),
        ]
        let count = all.reduce(0) { $0 + $1.0 }
        let parts = all.filter { $0.0 > 0 || $0.1 == "OK" }.map { "\($0.0) \($0.1)" }.joined(separator: ", ")
        let line =
            "Checked \(Format.count(count, "file")), \(Format.bytes(summary.comparedBytes)) read: \(parts)."
        guard summary.intact == 0, summary.changed == 0, summary.missing == 0 else { return line }
        return line + " Nothing says what the files should be. Pass --checksum-file, or download with --xattr."
    }
}
