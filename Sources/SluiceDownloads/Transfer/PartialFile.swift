import SluiceFiles
import SluiceHTTP
import Synchronization

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A transfer's partial file and its checkpoint, written in an order that never mixes old and new bytes, even after a power loss.
///
/// ```text
/// a new file                        the rest of an old one
/// ─────────────────────────────     ─────────────────────────────────
/// truncate to zero                  truncate to the trusted bytes
/// replace the checkpoint            replace the checkpoint, if the system has rebooted
/// append …                          append …
/// sync, replace the checkpoint …    sync, replace the checkpoint …
/// ```
///
/// An old checkpoint never exists next to new bytes. If there is one, its replacement is on the disk, under its name, before the first byte
/// is written.
final class PartialFile {
    let file: CheckpointedFile
    private let durability: Durability
    private let urlDigest: String
    private let policy: CheckpointPolicy
    private let onPhase: (TransferPhase) -> Void

    private(set) var checkpoint: Checkpoint?
    private var isCheckpointed: Bool
    private(set) var size: Int64
    /// The bytes that have arrived but aren't in the file yet.
    private var gathered: [Data] = []
    private var gatheredBytes = 0

    /// Whether the bytes in the file and the checkpoint belong to the same state of the server's file. False until the transfer has
    /// decided what to do with the existing bytes.
    private var isAdopted = false
    /// Whether the file has been handed over for publishing, which closes it.
    private var isClosed = false

    private let sync = BackgroundSync()
    private var hasSync = false
    private var lastSyncSize: Int64 = 0
    private var lastSyncTime = ContinuousClock.now

    private init(_ opened: CheckpointedFile.Opened, for transfer: Transfer) {
        file = opened.file
        size = opened.size
        isCheckpointed = opened.isCheckpointed
        durability = transfer.durability
        policy = transfer.checkpoints
        onPhase = transfer.onPhase
        urlDigest = Checkpoint.digest(of: transfer.request.url)
        checkpoint = opened.checkpoint.flatMap { Checkpoint($0) }
        if checkpoint?.url != urlDigest { checkpoint = nil }
    }

    static func openLocked(_ mode: CheckpointedFile.OpeningMode, for transfer: Transfer) async throws -> PartialFile? {
        let opened = try await CheckpointedFile.openLocked(
            transfer.request.checkpointedPlaces, mode: mode, using: transfer.files,
            ifCheckpoint: Checkpoint.isCheckpoint)
        guard let opened else { return nil }
        if let foreign = foreignFile(opened, transfer.request) {
            await opened.file.abandon()
            throw FileError(
                .replaced, subject: foreign, message: "'\(foreign)' isn't a partial file of a download.",
                remedy: "Rename it, or choose another name for the download.")
        }
        return PartialFile(opened, for: transfer)
    }

    /// Returns the path of a user's own file that has the name of the partial file or the checkpoint. We can tell because a partial file
    /// gets its checkpoint before its first byte.
    private static func foreignFile(_ opened: CheckpointedFile.Opened, _ request: DownloadRequest) -> String? {
        if opened.isCheckpointed {
            return opened.isOwn ? nil : request.checkpointTarget.path(percentEncoded: false)
        }
        return opened.size > 0 ? request.partialTarget.path(percentEncoded: false) : nil
    }

    /// The bytes that the transfer can continue from; `nil` if there are none.
    var present: TransferStateMachine.Present? {
        guard let checkpoint, let validator = checkpoint.validator?.validator else { return nil }
        let bytes = checkpoint.trustedBytes(size: size, file: file.identity, boot: file.boot)
        guard bytes > 0 else { return nil }
        return .init(bytes: bytes, validator: validator, total: checkpoint.total)
    }

    // MARK: Beginning

    func begin(_ validator: Validator?, total: Int64?) async throws {
        try await empty()
        isAdopted = true
        checkpoint = nil
        // Even without a validator, so that we can tell the partial file from a user's file with the same name.
        try await store(
            Checkpoint(
                url: urlDigest, validator: validator.map { StoredValidator($0) }, total: total, synced: 0,
                isDurable: durability != .none, boot: file.boot, file: file.identity),
            // If the first checkpoint gets lost, so does its file. But a checkpoint that replaces another must not get lost, because the
            // old one would reappear.
            durability: isCheckpointed ? .fullAndDirectory : .none)
        startCounting()
    }

    func resume(at offset: Int64) async throws {
        if size > offset { try await truncate(to: offset) }
        guard var renewed = checkpoint else { preconditionFailure("A resumed transfer has no checkpoint.") }
        renewed.boot = file.boot
        renewed.synced = min(renewed.synced, offset)
        renewed.isDurable = durability != .none
        if renewed != checkpoint {
            // A checkpoint that promises more than the new one must not reappear.
            let promisedMore = checkpoint?.isDurable == true && !renewed.isDurable
            try await store(renewed, durability: promisedMore ? .fullAndDirectory : durability)
        }
        isAdopted = true
        startCounting()
    }

    /// Truncates the file. The checkpoint doesn't change, but there are no bytes left for it to vouch for.
    func empty() async throws {
        gathered = []
        gatheredBytes = 0
        if size > 0 { try await truncate(to: 0) }
    }

    private func truncate(to size: Int64) async throws {
        try await file.truncate(to: size)
        self.size = size
    }

    private func store(_ checkpoint: Checkpoint, durability: Durability) async throws {
        // From here on, the checkpoint may exist.
        defer { isCheckpointed = true }
        try await file.store(checkpoint.data, durability: durability)
        self.checkpoint = checkpoint
        onPhase(.checkpointed)
    }

    private func startCounting() {
        lastSyncSize = size
        lastSyncTime = .now
    }

    // MARK: Writing

    /// Gathered bytes are written when there are enough to justify a thread hop.
    func take(_ batch: [Data]) async throws {
        gathered += batch
        for chunk in batch { gatheredBytes += chunk.count }
        if gatheredBytes >= Transfer.writeSize { try await flush() }
    }

    func flush() async throws {
        guard gatheredBytes > 0 else { return }
        do {
            size = try await file.append(gathered)
        } catch is CancellationError {
            // No byte was written. The gathered bytes are written when the file is closed.
            throw CancellationError()
        } catch {
            gathered = []
            gatheredBytes = 0
            throw error
        }
        gathered.removeAll(keepingCapacity: true)
        gatheredBytes = 0
    }

    /// Starts a sync if one is due. The sync runs while more bytes arrive. Throws the error of the last sync.
    func checkpointIfDue(in group: inout ThrowingTaskGroup<Checkpoint, any Error>) async throws {
        // If the disk is slower than the policy, don't start a second sync.
        if hasSync {
            guard sync.hasEnded else { return }
            try await collect(from: &group)
        }
        guard var next = checkpoint, next.validator != nil, durability != .none, size > lastSyncSize,
            size - lastSyncSize >= policy.bytes || .now - lastSyncTime >= policy.interval
        else { return }
        next.synced = size
        startCounting()
        hasSync = true
        sync.begin()
        group.addTask { [file, durability, sync, next] in
            try await sync.run { try await file.sync(durability, thenStoring: next.data) }
            return next
        }
    }

    func collect(from group: inout ThrowingTaskGroup<Checkpoint, any Error>) async throws {
        while let stored = try await group.next() {
            hasSync = false
            checkpoint = stored
            onPhase(.checkpointed)
        }
    }

    // MARK: Ending

    /// Keeps the file and its checkpoint for a later attempt if they are usable, and removes them otherwise. Ignores cancellation.
    func leave(after error: any Error, using files: FileIO, _ places: CheckpointedFile.Places) async {
        let isUsable =
            isAdopted ? checkpoint?.validator != nil && size + Int64(gatheredBytes) > 0 : present != nil
        let isKept = isUsable && !sync.isDamaged && !Self.isDamaging(error)
        if isClosed {
            if !isKept {
                _ = try? await CheckpointedFile.removeUnlessLocked(
                    places, using: files, ifCheckpoint: Checkpoint.isCheckpoint)
            }
        } else if !isKept {
            await file.discard()
        } else {
            let (isAdopted, durability, latest) = (isAdopted, durability, checkpoint)
            // If this fails, the checkpoint on the disk is still valid.
            try? await file.close(appending: gathered, durability: isAdopted ? durability : .none) { size in
                guard isAdopted, durability != .none, var latest, size > 0 else { return nil }
                latest.synced = size
                return latest.data
            }
        }
    }

    /// Gives the file its final name. The checkpoint stays, so that the published file can be recognized.
    func publish(as target: URL, size total: Int64, existing: ExistingFile) async throws {
        guard size == total else {
            throw FileError(
                code: .replaced, operation: "complete", path: target.path(percentEncoded: false),
                remedy:
                    "Try again, because another program wrote to the partial file, which has \(size) bytes instead of \(total)."
            )
        }
        if checkpoint?.total != total {
            var complete =
                checkpoint
                ?? Checkpoint(
                    url: urlDigest, synced: 0, isDurable: durability != .none, boot: file.boot, file: file.identity)
            complete.total = total
            try await store(complete, durability: isCheckpointed ? durability : .none)
        }
        isClosed = true
        try await file.publish(
            as: target, existing: existing, durability: durability,
            removesOnFailure: checkpoint?.validator == nil)
    }

    static func isDamaging(_ error: any Error) -> Bool {
        switch error {
        case let error as FileError: CheckpointedFile.isDamaging(error) || error.code == .replaced
        case TransferFailure.length(let announced, let received): received > announced
        default: false
        }
    }
}

private final class BackgroundSync: Sendable {
    private let ended = Atomic(false)
    private let damaged = Atomic(false)

    var hasEnded: Bool { ended.load(ordering: .acquiring) }
    /// A failed sync is reported only once (see `CheckpointedFile.isDamaging`), possibly to a task that doesn't pass the error on.
    var isDamaged: Bool { damaged.load(ordering: .acquiring) }

    func begin() { ended.store(false, ordering: .releasing) }

    func run(_ body: () async throws -> Void) async throws {
        defer { ended.store(true, ordering: .releasing) }
        do {
            try await body()
        } catch let error as FileError {
            if CheckpointedFile.isDamaging(error) { damaged.store(true, ordering: .releasing) }
            throw error
        }
    }
}

/// How often a checkpoint is renewed while bytes arrive. Each renewal needs a sync, which runs concurrently with the writes.
struct CheckpointPolicy: Sendable {
    /// The number of bytes since the last checkpoint.
    var bytes: Int64 = 64 << 20
    /// The time since the last checkpoint. Whichever limit is reached first counts.
    var interval: Duration = .seconds(5)
}

extension DownloadRequest {
    var checkpointedPlaces: CheckpointedFile.Places {
        .init(
            file: partialTarget, checkpoint: checkpointTarget,
            temporary: directory.appending(path: checkpointTemporaryName, directoryHint: .notDirectory))
    }
}

// MARK: - The checkpoint

/// What is known about a partial file: where its bytes came from, the size of the whole file, and how many bytes can be trusted.
///
/// It is stored as JSON beside the partial file. It contains no secrets, and only a digest of the URL.
///
/// ```text
/// which bytes of the partial file count
/// ─────────────────────────────────────────────────────────────────────────────
/// not the file named here                  none: it was copied, or created again
/// same file, same boot                     all: one locked writer appended them in order, and the page cache
///                                          outlives a killed process
/// same file, different or unknown boot     `synced`: what was on the disk when the checkpoint was written
/// ```
struct Checkpoint: Codable, Equatable {
    /// The version of the format. Checkpoints of other versions are ignored.
    static let currentVersion = 1

    var version = Checkpoint.currentVersion
    /// The digest of the requested URL; see ``digest(of:)``.
    var url: String
    /// The validator of this state of the file on the server; `nil` if the transfer can't be resumed.
    var validator: StoredValidator?
    /// The length of the whole file, if the server sent it or all of it has arrived.
    var total: Int64?
    /// The number of bytes that were synced to the disk when this checkpoint was written.
    var synced: Int64
    /// Whether the file is synced before it gets its final name.
    var isDurable: Bool
    /// The system boot during which this checkpoint was written.
    var boot: String?
    var file: FileIdentity

    func trustedBytes(size: Int64, file: FileIdentity, boot: String?) -> Int64 {
        guard file == self.file else { return 0 }
        let trusted = boot != nil && boot == self.boot ? size : min(synced, size)
        // There are more bytes than the file can have, so another program has written to it.
        if let total, trusted > total { return 0 }
        return trusted
    }

    /// Whether the file under the final name is this checkpoint's partial file, completed.
    ///
    /// Only publishing gives it that name, after all bytes have arrived and, if `isDurable`, have been synced.
    func isPublished(as file: FileIdentity, size: Int64, boot: String?) -> Bool {
        file == self.file && total == size && (isDurable || (boot != nil && boot == self.boot))
    }
}

extension Checkpoint {
    /// Returns `nil` if another version wrote the checkpoint, or it is inconsistent.
    init?(_ data: Data) {
        guard let found = try? JSONDecoder().decode(Checkpoint.self, from: data),
            found.version == Self.currentVersion, found.synced >= 0, found.total.map({ $0 >= 0 }) ?? true
        else { return nil }
        self = found
    }

    /// Whether a file is a checkpoint of any version, even one that a power loss left empty, truncated, or full of zeros. Any other file
    /// may be a user's.
    static func isCheckpoint(_ data: Data) -> Bool {
        struct AnyVersion: Decodable {
            var version: Int
            var synced: Int64
        }
        struct AnyJSON: Decodable {
            init(from decoder: any Decoder) {}
        }
        if (try? JSONDecoder().decode(AnyVersion.self, from: data)) != nil { return true }
        let rest = data[..<(data.lastIndex { $0 != 0 }.map { $0 + 1 } ?? data.startIndex)]
        // A user's file can begin the same way, but then it is complete.
        return beginnings.contains { rest.starts(with: $0) || $0.starts(with: rest) }
            && (try? JSONDecoder().decode(AnyJSON.self, from: rest)) == nil
    }

    /// The keys are sorted, and `boot` is left out if it is unknown.
    private static let beginnings = [#"{"boot":""#, #"{"file":{""#].map { Array($0.utf8) }

    var data: Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        guard let data = try? encoder.encode(self) else {
            preconditionFailure("A checkpoint of strings and integers can't be encoded as JSON.")
        }
        return data
    }

    /// Identifies a URL without disclosing it. The user and password, which depend on the requester, and the fragment, which isn't sent,
    /// are left out.
    static func digest(of url: URL) -> String {
        var parts = URLComponents(url: url, resolvingAgainstBaseURL: true)
        parts?.user = nil
        parts?.password = nil
        parts?.fragment = nil
        let text = parts?.string ?? url.absoluteString
        return SHA256Digest.of(Array(text.utf8)).hexadecimal
    }
}

struct StoredValidator: Codable, Equatable {
    enum Kind: String, Codable { case entityTag, lastModified }

    var kind: Kind
    var field: String

    init(_ validator: Validator) {
        switch validator {
        case .entityTag(let field): (kind, self.field) = (.entityTag, field)
        case .lastModified(let field): (kind, self.field) = (.lastModified, field)
        }
    }

    /// `nil` if the text can't be part of a header field. The checkpoint may have been edited.
    var validator: Validator? {
        guard field.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else { return nil }
        switch kind {
        case .entityTag: return field.hasPrefix("\"") ? .entityTag(field) : nil
        case .lastModified: return .lastModified(field)
        }
    }
}
