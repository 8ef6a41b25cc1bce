#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif
import SluiceFiles
import SluiceHTTP
import Synchronization

/// A transfer's partial file and its checkpoint, in the one order in which no power cut mixes old bytes with new ones.
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
/// Never does an old checkpoint stand beside new bytes: where there was one, the new one is on the disk, with its name,
/// before the first byte.
final class PartialFile {
    let file: CheckpointedFile
    private let durability: Durability
    private let urlDigest: String
    private let policy: CheckpointPolicy
    private let onPhase: (TransferPhase) -> Void

    /// The checkpoint on the disk, if it can be used.
    private(set) var checkpoint: Checkpoint?
    /// Whether anything has the checkpoint's name.
    private var isCheckpointed: Bool
    /// The bytes that are in the file.
    private(set) var size: Int64
    /// What has arrived and is not in the file yet.
    private var gathered: [Data] = []
    private var gatheredBytes = 0

    /// Whether the bytes in the file and the checkpoint are of one state of the server's file: not before the first decision
    /// about what is there.
    private var isAdopted = false
    /// Whether the file was handed over to be published, which closes it.
    private var isClosed = false

    /// The sync that runs beside the writes.
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

    /// Opens the partial file and locks it; with `.ifCheckpointed`, only if an earlier attempt left a checkpoint.
    static func openLocked(_ mode: CheckpointedFile.OpeningMode, for transfer: Transfer) async throws -> PartialFile? {
        let opened = try await CheckpointedFile.openLocked(
            transfer.request.checkpointedPlaces, mode: mode, using: transfer.files)
        return opened.map { PartialFile($0, for: transfer) }
    }

    /// What of the file can be gone on from; nil if nothing can.
    var present: TransferStateMachine.Present? {
        guard let checkpoint, let validator = checkpoint.validator?.validator else { return nil }
        let bytes = checkpoint.trustedBytes(size: size, file: file.identity, boot: file.boot)
        guard bytes > 0 else { return nil }
        return .init(bytes: bytes, validator: validator, total: checkpoint.total)
    }

    // MARK: Beginning

    /// Makes the file an empty one, for a body that begins at the first byte.
    func begin(_ validator: Validator?, total: Int64?) async throws {
        try await empty()
        isAdopted = true
        checkpoint = nil
        if let validator {
            try await store(
                Checkpoint(
                    url: urlDigest, validator: StoredValidator(validator), total: total, synced: 0,
                    isDurable: durability != .none, boot: file.boot, file: file.identity),
                // A first checkpoint may be lost with its file. One that replaces another may not: the other would be back.
                durability: isCheckpointed ? .fullAndDirectory : .none)
        } else if isCheckpointed {
            try await file.removeCheckpoint()
            isCheckpointed = false
        }
        startCounting()
    }

    /// Makes the file end where the rest begins.
    func resume(at offset: Int64) async throws {
        if size > offset { try await truncate(to: offset) }
        guard var renewed = checkpoint else { preconditionFailure("what is resumed has a checkpoint") }
        renewed.boot = file.boot
        renewed.synced = min(renewed.synced, offset)
        renewed.isDurable = durability != .none
        if renewed != checkpoint {
            // One that promises more than the new one may not come back.
            let promisedMore = checkpoint?.isDurable == true && !renewed.isDurable
            try await store(renewed, durability: promisedMore ? .fullAndDirectory : durability)
        }
        isAdopted = true
        startCounting()
    }

    /// Drops what is there. The checkpoint still tells of it, and thus of nothing.
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
        // From here on something may have the name.
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

    /// Takes a batch; what has been gathered goes to the file once it is worth a switch of thread.
    func take(_ batch: [Data]) async throws {
        gathered += batch
        for chunk in batch { gatheredBytes += chunk.count }
        if gatheredBytes >= Transfer.writeSize { try await flush() }
    }

    /// Writes what has been gathered.
    func flush() async throws {
        guard gatheredBytes > 0 else { return }
        do {
            size = try await file.append(gathered)
        } catch is CancellationError {
            // Nothing of it was written: it will be when the file is closed.
            throw CancellationError()
        } catch {
            gathered = []
            gatheredBytes = 0
            throw error
        }
        gathered.removeAll(keepingCapacity: true)
        gatheredBytes = 0
    }

    /// Begins to sync if it is time, beside the bytes that go on to arrive; reports what the last sync met.
    func checkpointIfDue(in group: inout ThrowingTaskGroup<Checkpoint, any Error>) async throws {
        // A disk that is slower than the policy is not asked twice at once.
        if hasSync {
            guard sync.hasEnded else { return }
            try await collect(from: &group)
        }
        guard var next = checkpoint, durability != .none, size > lastSyncSize,
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

    /// Waits for a sync that is under way.
    func collect(from group: inout ThrowingTaskGroup<Checkpoint, any Error>) async throws {
        while let stored = try await group.next() {
            hasSync = false
            checkpoint = stored
            onPhase(.checkpointed)
        }
    }

    // MARK: Ending

    /// Keeps what is there for a later attempt, if it can be of use, or else removes it. Runs also when cancelled.
    func leave(after error: any Error, using files: FileIO, _ places: CheckpointedFile.Places) async {
        let isUsable =
            isAdopted ? checkpoint?.validator != nil && size + Int64(gatheredBytes) > 0 : present != nil
        let isKept = isUsable && !sync.isDamaged && !Self.isDamaging(error)
        if isClosed {
            if !isKept { _ = try? await CheckpointedFile.removeUnlessLocked(places, using: files) }
        } else if !isKept {
            await file.discard()
        } else {
            let (isAdopted, durability, latest) = (isAdopted, durability, checkpoint)
            // Whatever fails here: the checkpoint that is on the disk stays true.
            try? await file.close(appending: gathered, durability: isAdopted ? durability : .none) { size in
                guard isAdopted, durability != .none, var latest, size > 0 else { return nil }
                latest.synced = size
                return latest.data
            }
        }
    }

    /// Gives the file its final name. Its checkpoint stays, so that this can be recognized.
    func publish(as target: URL, size total: Int64, existing: ExistingFile) async throws {
        guard size == total else {
            throw FileError(
                code: .replaced, operation: "complete", path: target.path(percentEncoded: false),
                remedy: "Somebody else wrote to its partial file (\(size) bytes instead of \(total)): try again.")
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

    /// Whether the bytes of the file cannot be trusted after this.
    static func isDamaging(_ error: any Error) -> Bool {
        switch error {
        case let error as FileError: CheckpointedFile.isDamaging(error) || error.code == .replaced
        case TransferFailure.length(let announced, let received): received > announced
        default: false
        }
    }
}

/// What a partial file knows of the sync that a task of its own carries out.
private final class BackgroundSync: Sendable {
    private let ended = Atomic(false)
    private let damaged = Atomic(false)

    var hasEnded: Bool { ended.load(ordering: .acquiring) }
    /// A failed sync is reported once (see `CheckpointedFile.isDamaging`), even to a task whose error nobody collects.
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

/// How often a checkpoint is renewed while bytes arrive. Each costs a sync, which runs beside the writes.
struct CheckpointPolicy: Sendable {
    /// So many bytes after the last one.
    var bytes: Int64 = 64 << 20
    /// Or so long after it, whichever comes first.
    var interval: Duration = .seconds(5)
}

extension DownloadRequest {
    /// The names of the partial file and what belongs to it.
    var checkpointedPlaces: CheckpointedFile.Places {
        .init(
            file: partialTarget, checkpoint: checkpointTarget,
            temporary: directory.appending(path: checkpointTemporaryName, directoryHint: .notDirectory))
    }
}
