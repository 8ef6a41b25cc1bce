#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif
import SluiceFiles
import SluiceHTTP
import Synchronization

/// A transfer's partial file and its checkpoint, written in an order that never mixes old and new bytes, even after a loss of power.
///
/// ```text
/// a new file                        the rest of an old one
/// ─────────────────────────────     ─────────────────────────────────
/// cut off what is there             cut off what is not trusted
/// replace the checkpoint            replace the checkpoint, if the boot is another
/// append …                          append …
/// sync, replace the checkpoint …    sync, replace the checkpoint …
/// ```
///
/// An old checkpoint never exists beside new bytes: if there is an old one, the new one is on the disk, under its name, before the first
/// byte.
final class PartialFile {
    let file: CheckpointedFile
    private let durability: Durability
    private let urlDigest: String
    private let policy: CheckpointPolicy
    private let onPhase: (TransferPhase) -> Void

    private(set) var checkpoint: Checkpoint?
    private var isCheckpointed: Bool
    private(set) var size: Int64
    /// The bytes that have arrived and aren't in the file yet.
    private var gathered: [Data] = []
    private var gatheredBytes = 0

    /// Whether the bytes in the file and the checkpoint belong to the same state of the server's file. False until the transfer has
    /// decided what to do with the existing bytes.
    private var isAdopted = false
    /// Whether the file was passed on for publishing, which closes it.
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

    /// Returns the path of a file that has the name of the partial file or the checkpoint and belongs to a user. Each partial file has a
    /// checkpoint, which is there before its first byte.
    private static func foreignFile(_ opened: CheckpointedFile.Opened, _ request: DownloadRequest) -> String? {
        if opened.isCheckpointed {
            return opened.isOwn ? nil : request.checkpointTarget.path(percentEncoded: false)
        }
        return opened.size > 0 ? request.partialTarget.path(percentEncoded: false) : nil
    }

    /// The bytes from which the transfer can continue; `nil` if there are none.
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
        // Also without a validator, so that the partial file can be told from a user's file with its name.
        try await store(
            Checkpoint(
                url: urlDigest, validator: validator.map { StoredValidator($0) }, total: total, synced: 0,
                isDurable: durability != .none, boot: file.boot, file: file.identity),
            // A first checkpoint may be lost with its file. One that replaces another may not: the old one would reappear.
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

    /// Removes the bytes in the file. The checkpoint doesn't change, but there are no bytes left for it to vouch for.
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
        // From here on a file with the name may exist.
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

    /// Gathered bytes are written when there are enough to justify a thread switch.
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

    /// Starts a sync if one is due, which runs while more bytes arrive. Throws the error of the last sync.
    func checkpointIfDue(in group: inout ThrowingTaskGroup<Checkpoint, any Error>) async throws {
        // A disk that is slower than the policy doesn't get a second sync meanwhile.
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
            // If this fails, the checkpoint on the disk remains true.
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
            removingOnFailure: checkpoint?.validator == nil)
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

/// The intervals at which a checkpoint is renewed while bytes arrive. Each renewal needs a sync, which runs concurrently with the writes.
struct CheckpointPolicy: Sendable {
    /// The number of bytes after the last checkpoint.
    var bytes: Int64 = 64 << 20
    /// The time after the last checkpoint. The interval that ends first counts.
    var interval: Duration = .seconds(5)
}

extension DownloadRequest {
    var checkpointedPlaces: CheckpointedFile.Places {
        .init(
            file: partialTarget, checkpoint: checkpointTarget,
            temporary: directory.appending(path: checkpointTemporaryName, directoryHint: .notDirectory))
    }
}
