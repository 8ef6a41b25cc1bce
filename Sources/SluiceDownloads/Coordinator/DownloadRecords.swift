import SluiceConcurrency
public import SluiceFiles
import SluiceHTTP
import SluiceLock

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// Remembers which files downloads have completed, so that the same list, downloaded again, does nothing.
///
///     var configuration = DownloadCoordinator.Configuration()
///     configuration.records = DownloadRecords(in: state)
///     try await DownloadCoordinator(configuration: configuration).download(list)
///     // … in a later process, with the same list:
///     try await DownloadCoordinator(configuration: configuration).download(list)      // every file is skipped
///
/// With `ExistingFile.fail`, a file that exists is an error. With records, it counts as done if an earlier download of the same URL to the
/// same file completed it, and nothing has changed it since: its size, modification time and inode are the same. A file that another
/// program made or changed is still an error, and so is one that was downloaded from another URL. Requests with a checksum don't need
/// records, because the file's bytes are compared.
///
/// **Contents.** The directory has one file for each directory that files were downloaded to. It contains names, sizes, times, inodes, the
/// validators that servers sent, and digests of the URLs, but no URLs, users or header fields. Only the user can read it (mode 0600). Records
/// that are older than `maximumAge` are removed.
///
/// **Crashes.** Before a list's downloads start, it is noted which files don't exist yet. If the process is killed after a file got its name,
/// but before that was recorded, the next download recognizes the file by its checkpoint or, if it is small, by its bytes.
///
/// **Several processes** can use a directory at the same time. A lock file protects it.
///
/// **Failure.** Downloads don't depend on their records. If the directory can't be used, or someone has damaged its files, the downloads run
/// without it, and ``failure`` says why.
public final class DownloadRecords: Sendable {
    private struct State {
        /// The names of the record files, by the directories that they are about.
        var names: [URL: String] = [:]
        /// The lines that haven't been written yet, by the names of the record files.
        var pending: [String: [UInt8]] = [:]
        var pendingCount = 0
        /// The record files that contain much that is no longer needed.
        var worn: Set<String> = []
        var failure: FileError?
        var isPruned = false
    }

    private let directory: URL
    private let maximumAge: Duration
    private let files: FileIO
    private let now: @Sendable () -> FileTime
    /// How long to wait for other processes that change the directory.
    private let lockTime: Duration
    private let state = Lock(State())

    /// Creates records in a directory, which is created when the first file is recorded.
    ///
    /// - Parameters:
    ///   - directory: The directory of the records, for example `$XDG_STATE_HOME/NAME`.
    ///   - maximumAge: How long a completed file is remembered. A negative age is zero.
    ///   - files: The engine that reads and writes the records.
    /// - Precondition: `directory` is a file URL.
    public convenience init(
        in directory: URL, maximumAge: Duration = .seconds(30 * 86_400), using files: FileIO = .shared
    ) {
        self.init(in: directory, maximumAge: maximumAge, using: files, now: { .now })
    }

    init(
        in directory: URL, maximumAge: Duration, using files: FileIO, lockTime: Duration = .seconds(10),
        now: @escaping @Sendable () -> FileTime
    ) {
        precondition(directory.isFileURL, "The directory of download records must be a file URL; it is '\(directory)'.")
        self.directory = directory
        self.maximumAge = max(maximumAge, .zero)
        self.files = files
        self.lockTime = lockTime
        self.now = now
    }

    /// Why files aren't remembered, or `nil` if they are. After a failure, the records aren't used anymore.
    public var failure: FileError? { state.withLock { $0.failure } }

    // MARK: Reading

    /// What is known about the files of some requests.
    struct Known: Sendable {
        fileprivate var records: [String: [String: DownloadRecord]] = [:]
        fileprivate var names: [URL: String] = [:]
        fileprivate var boot: String?

        enum Answer {
            case unknown
            /// An earlier process may have published the file, and died before it recorded that.
            case mayBePublished
            /// The file is the one that an earlier process downloaded.
            case complete
        }

        func answer(about request: DownloadRequest, _ facts: TargetFacts) -> Answer {
            guard case .file = facts.target else { return .unknown }
            if let name = names[request.directory], let record = records[name]?[request.name],
                record.resource == DownloadRecord.digest(of: request)
            {
                if let file = record.file, file.stamp == facts.stamp, file.boot == nil || file.boot == boot {
                    return .complete
                }
                if record.isBegun { return .mayBePublished }
            }
            return facts.evidence == .unread ? .mayBePublished : .unknown
        }
    }

    /// Reads what is known about the files of the requests, which have absolute directories.
    func known(of requests: [DownloadRequest]) async -> Known {
        var known = Known(boot: files.bootIdentity)
        guard failure == nil else { return known }
        for directory in Set(requests.map(\.directory)) {
            do {
                let name = try await name(of: directory)
                known.names[directory] = name
                if known.records[name] == nil { known.records[name] = try await read(name) }
            } catch {
                note(error)
            }
        }
        return known
    }

    /// The completed files of a directory that haven't been lost with a boot, by their names.
    func files(in directory: URL) async -> [String: DownloadRecord.File] {
        guard failure == nil else { return [:] }
        do {
            let records = try await read(try await name(of: directory))
            let boot = files.bootIdentity
            return records.compactMapValues(\.file).filter { $0.value.boot == nil || $0.value.boot == boot }
        } catch {
            note(error)
            return [:]
        }
    }

    /// Larger files aren't read, and are replaced. A million long names have room.
    static let maximumSize = 256 << 20

    private func read(_ name: String) async throws -> [String: DownloadRecord] {
        let file = place(name)
        guard let status = try await files.status(of: file, followsLinks: false) else { return [:] }
        guard status.kind == .file else {
            throw FileError(
                .notRegularFile, subject: file.path(percentEncoded: false), message: "It isn't a regular file.",
                remedy: "Remove it.")
        }
        guard status.size <= Self.maximumSize else {
            state.withLock { _ = $0.worn.insert(name) }
            return [:]
        }
        let data = try await Data(asyncContentsOf: file, maximumSize: Self.maximumSize, using: files)
        var count = 0
        let records = DownloadRecord.read(data, notBefore: oldest) { count += 1 }
        // Each file has two lines: one from before its download, and one from after it.
        if count > 1000, count > 3 * records.count { state.withLock { _ = $0.worn.insert(name) } }
        return records
    }

    // MARK: Writing

    /// Notes requests whose files don't exist, before their downloads start.
    func begin(_ requests: [DownloadRequest]) async {
        guard failure == nil, !requests.isEmpty else { return }
        let now = now().seconds
        do {
            for request in requests {
                let name = try await name(of: request.directory)
                add(
                    DownloadRecord(resource: DownloadRecord.digest(of: request), time: now, isBegun: true),
                    of: request.name, to: name)
            }
        } catch {
            note(error)
        }
        await write()
    }

    /// A file that got its final name.
    struct Completed: Sendable {
        var request: DownloadRequest
        var bytes: Int64
        /// What the file was like when it got its name; `nil` if that has to be read.
        var stamp: FileStamp?
        var validator: StoredValidator?
        /// Whether only its checkpoint tells, until it is recorded, that the file was downloaded.
        var isCheckpointed = true
        /// Whether the file survives a power failure.
        var isDurable = true
    }

    /// The number of small files that are recorded together. If the process is killed, their bytes identify them.
    private static let batch = 64

    /// Records a small file, if nothing has to be looked up or written for that. Otherwise returns `false`: call ``complete(_:)``.
    func recordAtOnce(_ file: Completed) -> Bool {
        guard !file.isCheckpointed, let stamp = file.stamp,
            let name = state.withLock({ state in
                state.failure == nil && state.pendingCount < Self.batch - 1 ? state.names[file.request.directory] : nil
            })
        else { return false }
        add(record(of: file, stamp), of: file.request.name, to: name)
        return true
    }

    private func record(of file: Completed, _ stamp: FileStamp) -> DownloadRecord {
        DownloadRecord(
            resource: DownloadRecord.digest(of: file.request), time: now().seconds,
            file: DownloadRecord.File(
                stamp: stamp, boot: file.isDurable ? nil : files.bootIdentity ?? "unknown", validator: file.validator))
    }

    /// Records files, before their checkpoints are removed. Ignores cancellation.
    func complete(_ completed: [Completed]) async {
        guard failure == nil, !completed.isEmpty else { return }
        await Task { await add(completed) }.value
        if completed.contains(where: \.isCheckpointed) || state.withLock({ $0.pendingCount >= Self.batch }) {
            await write()
        }
    }

    private func add(_ completed: [Completed]) async {
        do {
            for file in try await stamped(completed) {
                guard let stamp = file.stamp else { continue }
                add(record(of: file, stamp), of: file.request.name, to: try await name(of: file.request.directory))
            }
        } catch {
            note(error)
        }
    }

    /// Reads the missing stamps, in one step. They stay missing for files that another program has already replaced.
    private func stamped(_ completed: [Completed]) async throws -> [Completed] {
        let missing = completed.indices.filter { completed[$0].stamp == nil }
        guard !missing.isEmpty else { return completed }
        var stamped = completed
        let places = missing.map { completed[$0].request.targetPlace }
        for (index, status) in zip(missing, try await files.statuses(of: places, followsLinks: false)) {
            guard let found = try? status.get(), found.kind == .file, found.size == completed[index].bytes else {
                continue
            }
            stamped[index].stamp = FileStamp(found)
        }
        return stamped
    }

    /// Writes what hasn't been written, and removes old records. Ignores cancellation.
    func flush() async {
        await write()
        let (worn, isPruned) = state.withLock { state in
            defer { (state.worn, state.isPruned) = ([], true) }
            return (state.worn, state.isPruned)
        }
        guard failure == nil, !worn.isEmpty || !isPruned else { return }
        await changing { [self] in
            for name in worn { try await rewrite(name) }
            if !isPruned { try await removeOldFiles() }
        }
    }

    private func add(_ record: DownloadRecord, of file: String, to name: String) {
        let line = record.lines(of: file)
        state.withLock { state in
            state.pending[name, default: []] += line
            state.pendingCount += 1
        }
    }

    private func write() async {
        let pending = state.withLock { state in
            defer { (state.pending, state.pendingCount) = ([:], 0) }
            return state.pending
        }
        guard failure == nil, !pending.isEmpty else { return }
        await changing { [self] in
            for (name, lines) in pending {
                // A lock also refuses symbolic links and FIFOs.
                let stream = try await place(name).openForWriting(
                    existing: .append, permissions: Self.permissions, locked: true, using: files)
                // Ends a line that a killed process left unfinished.
                try await stream.write(Data([UInt8(ascii: "\n")] + lines))
                try await stream.close()
            }
        }
    }

    private static let permissions: FilePermissions = 0o600

    /// Runs `change` while no other process changes the directory.
    private func changing(_ change: @escaping @Sendable () async throws -> Void) async {
        await Task {
            do {
                try await files.createDirectory(at: directory, permissions: 0o700)
                try await place("lock").withFileLock(
                    timeout: lockTime, permissions: Self.permissions, using: files, change)
            } catch let exceeded as DeadlineExceeded {
                note(exceeded.cause ?? exceeded)
            } catch {
                note(error)
            }
        }.value
    }

    private func rewrite(_ name: String) async throws {
        let records = try await read(name)
        let lines = records.sorted { $0.value.time < $1.value.time }.flatMap { $0.value.lines(of: $0.key) }
        try await Data(lines).asyncWrite(
            to: place(name),
            options: FileWriteOptions(
                durability: .none, existing: .replace, temporaryName: name + ".new", permissions: Self.permissions),
            using: files)
    }

    private static let ending = ".files"
    /// More files than anybody has directories. The rest is looked at another time.
    private static let mostFiles = 10_000

    /// Removes the record files that nothing was added to for long.
    private func removeOldFiles() async throws {
        var count = 0
        for try await entry in files.listing(of: directory) where entry.name.hasSuffix(Self.ending) {
            count += 1
            guard count <= Self.mostFiles else { break }
            guard let status = try await entry.status(), status.kind == .file,
                status.modificationTime.seconds < oldest
            else { continue }
            try await entry.remove()
        }
    }

    // MARK: Names

    private var oldest: Int64 { now().seconds.addingClamped(-maximumAge.components.seconds) }

    private func place(_ name: String) -> URL { directory.appending(path: name, directoryHint: .notDirectory) }

    /// Returns the name of the record file of a directory: the digest of its path without symbolic links.
    private func name(of directory: URL) async throws -> String {
        if let known = state.withLock({ $0.names[directory] }) { return known }
        var path = try await resolved(directory).path(percentEncoded: false)
        while path.count > 1, path.hasSuffix("/") { path.removeLast() }
        let name = Array(SHA256Digest.of(Array(path.utf8)).prefix(16)).hexadecimal + Self.ending
        state.withLock { $0.names[directory] = name }
        return name
    }

    /// A directory that doesn't exist yet will be created below the last one that does.
    private func resolved(_ directory: URL) async throws -> URL {
        do {
            return try await files.resolve(directory)
        } catch let error as FileError where error.code == .notFound && directory.pathComponents.count > 1 {
            return try await resolved(directory.deletingLastPathComponent())
                .appending(path: directory.lastPathComponent, directoryHint: .isDirectory)
        }
    }

    private func note(_ error: any Error) {
        guard let failure = error as? FileError, failure.code != .cancelled else { return }
        state.withLock { if $0.failure == nil { $0.failure = failure } }
    }
}
