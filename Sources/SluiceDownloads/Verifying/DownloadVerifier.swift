import SluiceConcurrency
public import SluiceFiles
public import SluiceHTTP

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// Finds out whether files are still what was downloaded.
///
///     let verifier = DownloadVerifier(records: DownloadRecords(in: state))
///     let summary = try await verifier.verify([music]) { finding in
///         if case .changed(let detail) = finding.outcome { show("\(finding.file.path): \(detail)") }
///     }
///
/// The best evidence about a file counts:
///
/// | evidence | what is compared |
/// |---|---|
/// | a list of checksums, given or found | all bytes |
/// | the checksum in an extended attribute (``DownloadCoordinator/Configuration/storesOrigins``) | all bytes |
/// | a record of the download (``DownloadRecords``) | the size, the modification time and the inode |
///
/// A directory is searched with its subdirectories. If it contains a list, such as `SHA256SUMS`, that list's names are relative to the
/// directory. Names that lead out of it are reported as missing, and nothing there is read. Symbolic links are followed only if they are
/// given or in a list. Hidden files count only if they are in a list. Partial files of downloads are skipped.
///
/// Nothing is changed. Files are read a piece at a time, several files concurrently.
public struct DownloadVerifier: Sendable {
    /// What was found out about a file.
    public struct Finding: Sendable {
        /// The file. If only a list knows it, its path is the one that it should have.
        public var file: URL
        /// The result.
        public var outcome: Outcome
        /// The evidence that counted; `nil` if there was none, or if the file couldn't be read.
        public var evidence: Evidence?
        /// The number of bytes that were read and compared.
        public var comparedBytes: Int64 = 0
    }

    /// A result.
    public enum Outcome: Sendable {
        /// The file is the one that the evidence is about.
        case intact
        /// It isn't. The text is a sentence that says how it differs.
        case changed(String)
        /// There is no such file.
        case missing
        /// There is no evidence about the file.
        case unknown
        /// The file, the directory or the list couldn't be read.
        case failed(FileError)
    }

    /// The reason to believe that a file is or isn't the downloaded one.
    public enum Evidence: String, Sendable, Hashable, CaseIterable {
        case checksumList, attribute, record
    }

    /// The numbers of files by outcome.
    public struct Summary: Sendable, Hashable {
        /// The files that are as the evidence says.
        public var intact = 0
        /// The files that aren't.
        public var changed = 0
        /// The files that don't exist.
        public var missing = 0
        /// The files without evidence.
        public var unknown = 0
        /// The files, directories and lists that couldn't be read.
        public var failed = 0
        /// The number of bytes that were read and compared.
        public var comparedBytes: Int64 = 0

        /// Creates a summary of no files.
        public init() {}

        /// Counts another file.
        public mutating func add(_ finding: Finding) {
            switch finding.outcome {
            case .intact: intact += 1
            case .changed: changed += 1
            case .missing: missing += 1
            case .unknown: unknown += 1
            case .failed: failed += 1
            }
            comparedBytes += finding.comparedBytes
        }
    }

    private let records: DownloadRecords?
    private let checksums: [ChecksumList]
    private let files: FileIO

    /// Creates a verifier.
    ///
    /// - Parameters:
    ///   - records: The records of downloads; `nil` for none.
    ///   - checksums: Lists whose names are relative to each directory that is verified. A name that isn't found as a path stands for a
    ///     file with this name in any subdirectory.
    ///   - files: The engine that reads the files.
    public init(records: DownloadRecords? = nil, checksums: [ChecksumList] = [], using files: FileIO = .shared) {
        self.records = records
        self.checksums = checksums
        self.files = files
    }

    /// Verifies files, and directories with their subdirectories.
    ///
    /// Findings come in the order of the places, and sorted by name within a directory. The missing files of a list follow the directory that
    /// it belongs to, and those of the verifier's own lists come at the end, unless no place is a directory.
    ///
    /// - Parameters:
    ///   - places: The files and directories. A place that doesn't exist is missing.
    ///   - onFinding: A function that gets each finding. The next files are only read ahead while it runs.
    /// - Throws: The error of `onFinding`; `CancellationError`. What can't be read is a finding.
    public func verify(
        _ places: [URL], onFinding: @Sendable (Finding) async throws -> Void = { _ in }
    ) async throws -> Summary {
        let checks = AsyncBoundedQueue<FileCheck>(capacity: Self.concurrency)
        return try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                defer { checks.finish() }
                var search = VerificationSearch(checksums: checksums, records: records, files: files) { check in
                    _ = try await checks.send(check)
                }
                try await search.visit(places)
            }
            var summary = Summary()
            let findings = checks.elements.concurrentMap(concurrency: Self.concurrency) { [files] check in
                try await check.run(using: files)
            }
            for try await finding in findings {
                summary.add(finding)
                try await onFinding(finding)
            }
            try await group.waitForAll()
            return summary
        }
    }

    /// The number of files that are read at a time. Beyond that, most disks aren't faster.
    private static let concurrency = 4
}

// MARK: - One file

/// A file, and what it is compared with.
private struct FileCheck: Sendable {
    enum Basis: Sendable {
        case listed(Checksum)
        case record(DownloadRecord.File)
        case nothing
        /// The result is known without a look at the file.
        case settled(DownloadVerifier.Outcome)
    }

    var file: URL
    var basis: Basis

    func run(using files: FileIO) async throws -> DownloadVerifier.Finding {
        do {
            return try await finding(files)
        } catch let error as FileError where error.code == .notFound {
            return .init(file: file, outcome: .missing)
        } catch let error as FileError where error.code != .cancelled {
            return .init(file: file, outcome: .failed(error))
        }
    }

    private func finding(_ files: FileIO) async throws -> DownloadVerifier.Finding {
        switch basis {
        case .settled(let outcome): return .init(file: file, outcome: outcome)
        case .listed(let checksum): return try await compare(with: checksum, .checksumList, files)
        case .record, .nothing: break
        }
        guard let status = try await files.status(of: file, followsLinks: true) else {
            return .init(file: file, outcome: .missing)
        }
        if status.kind == .file, let checksum = try await FileOrigin.checksum(of: file, using: files) {
            return try await compare(with: checksum, .attribute, files)
        }
        guard case .record(let recorded) = basis else {
            return .init(file: file, outcome: .unknown)
        }
        let unlinked = try await files.status(of: file, followsLinks: false)
        let outcome = unlinked.map { Self.outcome(of: FileStamp($0), comparedWith: recorded.stamp) } ?? .missing
        return .init(file: file, outcome: outcome, evidence: .record)
    }

    private func compare(
        with expected: Checksum, _ evidence: DownloadVerifier.Evidence, _ files: FileIO
    ) async throws -> DownloadVerifier.Finding {
        guard let status = try await files.status(of: file, followsLinks: true) else {
            return .init(file: file, outcome: .missing, evidence: evidence)
        }
        // A FIFO would have to be waited for.
        guard status.kind == .file else {
            return .init(file: file, outcome: .changed("It isn't a regular file."), evidence: evidence)
        }
        let found = try await TransferDigests.checksum(expected.algorithm, of: file, using: files)
        var finding = DownloadVerifier.Finding(
            file: file, outcome: .intact, evidence: evidence, comparedBytes: status.size)
        if found != expected {
            let title = expected.algorithm.title
            finding.outcome = .changed("Its \(title) is \(found.bytes.hexadecimal), not \(expected.bytes.hexadecimal).")
        }
        return finding
    }

    private static func outcome(
        of found: FileStamp, comparedWith recorded: FileStamp
    ) -> DownloadVerifier.Outcome {
        if found.size != recorded.size {
            return .changed("It has \(found.size) bytes, not \(recorded.size) as after the download.")
        }
        if found.inode != recorded.inode { return .changed("Another file has replaced it since the download.") }
        return found == recorded ? .intact : .changed("It was written to after the download.")
    }
}

// MARK: - The search

/// Finds the files to check, and what is known about them.
private struct VerificationSearch {
    /// A list of checksums, and which of its names haven't been found yet.
    private final class Scope {
        let list: ChecksumList
        /// The directory that the names are relative to.
        let directory: URL
        /// The number of names in the path from the visited place to this directory.
        let depth: Int
        /// Whether a name also stands for a file in a subdirectory.
        let isGiven: Bool
        private(set) var unused: Set<String>

        init(_ list: ChecksumList, _ directory: URL, depth: Int, isGiven: Bool) {
            (self.list, self.directory, self.depth, self.isGiven) = (list, directory, depth, isGiven)
            unused = Set(list.names)
        }

        /// Takes the checksum of the file with this path, whose names begin at the visited place.
        func take(_ path: [String]) -> Checksum? {
            let relative = path.dropFirst(depth).joined(separator: "/")
            return take(relative) ?? (isGiven ? path.last.flatMap { take($0) } : nil)
        }

        private func take(_ name: String) -> Checksum? {
            guard let checksum = list[name] else { return nil }
            unused.subtract([name, "./\(name)"])
            return checksum
        }
    }

    let checksums: [ChecksumList]
    let records: DownloadRecords?
    let files: FileIO
    let found: (FileCheck) async throws -> Void

    /// The scopes of the directories on the way to the current one, the innermost last.
    private var scopes: [Scope] = []
    /// What is known about the directory of the last file that was a place itself.
    private var latest: (directory: URL, knowledge: Knowledge)?

    init(
        checksums: [ChecksumList], records: DownloadRecords?, files: FileIO,
        found: @escaping (FileCheck) async throws -> Void
    ) {
        (self.checksums, self.records, self.files, self.found) = (checksums, records, files, found)
    }

    mutating func visit(_ places: [URL]) async throws {
        var first: URL?
        var given = checksums.map { Scope($0, URL(filePath: "/"), depth: 0, isGiven: true) }
        for place in places {
            let kind: FileStatus.Kind?
            do {
                kind = try await files.status(of: place)?.kind
            } catch let error as FileError where error.code != .cancelled {
                try await settle(place, .failed(error))
                continue
            }
            switch kind {
            case nil: try await settle(place, .missing)
            case .directory:
                if first == nil {
                    first = place
                    given = zip(checksums, given).map { list, _ in Scope(list, place, depth: 0, isGiven: true) }
                }
                scopes = given
                try await visit(directory: place, path: [], isHidden: false)
            case .file:
                scopes = given
                try await visit(file: place)
            default:
                let error = FileError(
                    .notRegularFile, subject: place.path(percentEncoded: false), message: "It isn't a regular file.",
                    remedy: "Name a file or a directory.")
                try await settle(place, .failed(error))
            }
        }
        guard first != nil else { return }
        for scope in given { try await reportMissing(of: scope) }
    }

    private func settle(_ file: URL, _ outcome: DownloadVerifier.Outcome) async throws {
        try await found(FileCheck(file: file, basis: .settled(outcome)))
    }

    private func reportMissing(of scope: Scope) async throws {
        for name in scope.unused.sorted() {
            try await settle(scope.directory.appending(path: name, directoryHint: .notDirectory), .missing)
        }
    }

    /// A file that is a place itself has the lists and records of its directory, whose other files don't matter.
    private mutating func visit(file: URL) async throws {
        let directory = file.deletingLastPathComponent()
        if latest?.directory != directory {
            let entries = (try? await files.entries(of: directory)) ?? []
            try Task.checkCancellation()
            latest = (directory, try await knowledge(of: directory, entries, depth: 0))
        }
        guard let knowledge = latest?.knowledge else { return }
        scopes += knowledge.scopes
        try await check(file, path: [file.lastPathComponent], knowledge)
    }

    /// What a directory says about its own files.
    private struct Knowledge {
        var scopes: [Scope] = []
        var records: [String: DownloadRecord.File] = [:]
        /// The names of the lists.
        var lists: Set<String> = []
        var failures: [(file: URL, error: FileError)] = []
    }

    private mutating func visit(directory: URL, path: [String], isHidden: Bool) async throws {
        let entries: [DirectoryEntry]
        do {
            entries = try await files.entries(of: directory)
        } catch let error as FileError where error.code != .cancelled {
            return try await settle(directory, .failed(error))
        }
        let knowledge = try await knowledge(of: directory, entries, depth: path.count)
        for (file, error) in knowledge.failures { try await settle(file, .failed(error)) }
        let outer = scopes
        scopes += knowledge.scopes
        for entry in entries.sorted(by: { $0.name < $1.name }) where !knowledge.lists.contains(entry.name) {
            // A name that isn't UTF-8 isn't one of a download, and no list has it.
            guard let file = entry.url else { continue }
            var kind = entry.kind
            if kind == nil { kind = try? await entry.status()?.kind }
            let isHidden = isHidden || entry.name.hasPrefix(".")
            let path = path + [entry.name]
            if kind == .directory {
                try await visit(directory: file, path: path, isHidden: isHidden)
            } else {
                try await check(file, path: path, knowledge, onlyIfListed: isHidden || kind != .file)
            }
        }
        for scope in knowledge.scopes { try await reportMissing(of: scope) }
        scopes = outer
    }

    private func check(
        _ file: URL, path: [String], _ knowledge: Knowledge, onlyIfListed: Bool = false
    ) async throws {
        let name = path.last ?? ""
        // Each list that has the name finds the file, and the innermost one counts.
        if let checksum = scopes.compactMap({ $0.take(path) }).last {
            try await found(FileCheck(file: file, basis: .listed(checksum)))
        } else if !onlyIfListed, !DownloadRequest.isReserved(name) {
            let record = knowledge.records[name]
            try await found(FileCheck(file: file, basis: record.map { .record($0) } ?? .nothing))
        }
    }

    // MARK: What a directory says

    private static let namesOfLists = ["sha256", "sha512"].flatMap { algorithm in
        ["\(algorithm)sums", "\(algorithm)sums.txt", "\(algorithm)sum.txt"]
    }

    /// Larger lists aren't read.
    private static let maximumListSize = 64 << 20

    private func knowledge(
        of directory: URL, _ entries: [DirectoryEntry], depth: Int
    ) async throws -> Knowledge {
        var knowledge = Knowledge()
        knowledge.records = await records?.files(in: directory) ?? [:]
        let lists = entries.filter { $0.kind != .directory && Self.namesOfLists.contains($0.name.lowercased()) }
        for entry in lists.sorted(by: { $0.name < $1.name }) {
            guard let file = entry.url else { continue }
            knowledge.lists.insert(entry.name)
            do {
                let list = try await list(in: file)
                knowledge.scopes.append(Scope(list, directory, depth: depth, isGiven: false))
            } catch let error as FileError where error.code != .cancelled {
                knowledge.failures.append((file, error))
            }
        }
        return knowledge
    }

    private func list(in file: URL) async throws -> ChecksumList {
        func invalid(_ message: String, _ remedy: String) -> FileError {
            FileError(
                .invalidArgument, subject: file.path(percentEncoded: false), message: message, remedy: remedy)
        }
        guard try await files.status(of: file)?.kind == .file else {
            throw invalid("It isn't a regular file.", "Remove or rename it.")
        }
        let data = try await Data(asyncContentsOf: file, maximumSize: Self.maximumListSize, using: files)
        guard let text = String(validating: data, as: UTF8.self) else {
            throw invalid("The list isn't UTF-8 text.", "Save it as UTF-8, or rename it.")
        }
        do throws(ChecksumList.Invalid) {
            return try ChecksumList(text)
        } catch {
            throw invalid("Line \(error.line) of the list isn't a checksum.", "Correct it, or rename the list.")
        }
    }
}
