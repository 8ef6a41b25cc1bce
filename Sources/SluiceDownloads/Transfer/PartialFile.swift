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
///
/// A file that is downloaded in segments has its full length from the start, and its checkpoint says which bytes have been written. So the
/// checkpoint is also replaced between the syncs, without one: the page cache outlives a killed process.
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
    /// The number of bytes that an earlier attempt left. A file that begins again must get past them before it counts as progress:
    /// otherwise, a server that has another version each time would be asked forever.
    private var bytesBefore: Int64 = 0
    /// Whether the file has been handed over for publishing, which closes it.
    private var isClosed = false
    /// What has been written of a file that is downloaded in segments.
    private var segments: SegmentMap?
    /// What had been written when the running sync began, and when the last successful one did.
    private var (syncing, synced): (SegmentMap?, SegmentMap?)

    private let sync = BackgroundSync()
    private var hasSync = false
    private var lastSyncSize: Int64 = 0
    private var lastSyncTime = ContinuousClock.now
    private var (lastNoteSize, lastNoteTime): (Int64, ContinuousClock.Instant) = (0, .now)

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
        bytesBefore = present?.bytes ?? presentSegments?.map.writtenBytes ?? 0
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

    /// The segments that the transfer can continue; `nil` if there are none.
    var presentSegments: (map: SegmentMap, validator: Validator)? {
        guard let checkpoint, let validator = checkpoint.validator?.validator, size == checkpoint.total,
            let map = checkpoint.trustedSegments(file: file.identity, boot: file.boot)
        else { return nil }
        return (map, validator)
    }

    // MARK: Beginning

    func begin(_ validator: Validator?, total: Int64?) async throws {
        try await begin(validator, total: total, segments: nil)
    }

    private func begin(_ validator: Validator?, total: Int64?, segments: SegmentMap?) async throws {
        try await empty()
        isAdopted = true
        checkpoint = nil
        (self.segments, syncing, synced) = (segments, nil, nil)
        var next = Checkpoint(
            url: urlDigest, validator: validator.map { StoredValidator($0) }, total: total, synced: 0,
            isDurable: durability != .none, boot: file.boot, file: file.identity)
        next.segments = segments?.stored
        // Even without a validator, so that we can tell the partial file from a user's file with the same name.
        try await store(
            next,
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

    /// Begins a file that is downloaded in segments. Returns `false` if the file system can't reserve its space.
    func beginSegments(of total: Int64, _ validator: Validator) async throws -> Bool {
        // The checkpoint comes first: without the list of segments, the file's length would count.
        try await begin(validator, total: total, segments: SegmentMap(total: total))
        guard try await file.reserve(total) else { return false }
        size = total
        return true
    }

    /// Continues the segments of an earlier transfer. Returns `false` if the file system can no longer reserve space.
    func resumeSegments(_ map: SegmentMap) async throws -> Bool {
        guard var renewed = checkpoint, try await file.reserve(map.total) else { return false }
        segments = map
        (renewed.segments, renewed.boot, renewed.isDurable) = (map.stored, file.boot, durability != .none)
        if renewed != checkpoint {
            // As in `resume(at:)`.
            let promisedMore = checkpoint?.isDurable == true && !renewed.isDurable
            try await store(renewed, durability: promisedMore ? .fullAndDirectory : .none)
        }
        isAdopted = true
        startCounting()
        return true
    }

    /// Truncates the file. The checkpoint doesn't change, but there are no bytes left for it to vouch for.
    func empty() async throws {
        gathered = []
        gatheredBytes = 0
        (segments, syncing, synced) = (nil, nil, nil)
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
        lastSyncSize = writtenBytes
        lastSyncTime = .now
    }

    private var writtenBytes: Int64 { segments?.writtenBytes ?? size }

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
    ///
    /// - Parameter written: The segments as they are now, if the file is downloaded in segments. Without a sync, they are only noted.
    func checkpointIfDue(
        _ written: SegmentMap? = nil, in group: inout ThrowingTaskGroup<Checkpoint, any Error>
    ) async throws {
        if let written { noteWritten(written) }
        // If the disk is slower than the policy, don't start a second sync.
        if hasSync {
            guard sync.hasEnded else { return }
            try await collect(from: &group)
        }
        guard var next = checkpoint, next.validator != nil else { return }
        let present = writtenBytes
        guard durability != .none, present > lastSyncSize,
            present - lastSyncSize >= policy.bytes || .now - lastSyncTime >= policy.interval
        else { return try await noteSegmentsIfDue() }
        if var segments {
            syncing = segments
            // Nobody reads this checkpoint unless the sync succeeds.
            segments.noteSynced(segments)
            next.segments = segments.stored
        } else {
            next.synced = size
        }
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
            synced = syncing
            checkpoint = stored
            onPhase(.checkpointed)
        }
    }

    /// Takes over what the connections have written so far.
    func noteWritten(_ map: SegmentMap) {
        segments = map
        if let synced { segments?.noteSynced(synced) }
    }

    private func noteSegmentsIfDue() async throws {
        guard let segments, var next = checkpoint, case let present = segments.writtenBytes, present > lastNoteSize,
            present - lastNoteSize >= policy.noteBytes || .now - lastNoteTime >= policy.noteInterval
        else { return }
        next.segments = segments.stored
        try await store(next, durability: .none)
        (lastNoteSize, lastNoteTime) = (present, .now)
    }

    // MARK: Ending

    /// Keeps the file and its checkpoint for a later attempt if they are usable, and removes them otherwise. Ignores cancellation.
    ///
    /// - Returns: How many more bytes a file that is kept has than before this transfer.
    func leave(after error: any Error, using files: FileIO, _ places: CheckpointedFile.Places) async -> Int64 {
        let added = isAdopted ? writtenBytes + Int64(gatheredBytes) - bytesBefore : 0
        let isUsable =
            isAdopted
            ? checkpoint?.validator != nil && writtenBytes + Int64(gatheredBytes) > 0
            : present != nil || presentSegments != nil
        let isKept = isUsable && !sync.isDamaged && !Self.isDamaging(error)
        if isClosed {
            if !isKept {
                _ = try? await CheckpointedFile.removeUnlessLocked(
                    places, using: files, ifCheckpoint: Checkpoint.isCheckpoint)
            }
        } else if !isKept {
            await file.discard()
        } else {
            let (isAdopted, durability, latest, segments) = (isAdopted, durability, checkpoint, segments)
            // If this fails, the checkpoint on the disk is still valid.
            try? await file.close(appending: gathered, durability: isAdopted ? durability : .none) { size in
                guard isAdopted, var latest, size > 0 else { return nil }
                if var segments {
                    if durability != .none { segments.noteSynced(segments) }
                    latest.segments = segments.stored
                } else {
                    guard durability != .none else { return nil }
                    latest.synced = size
                }
                return latest.data
            }
        }
        return isKept ? max(0, added) : 0
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
        case TransferFailure.digest, TransferFailure.tooLarge: true
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

extension DownloadRequest {
    var checkpointedPlaces: CheckpointedFile.Places {
        .init(
            file: partialTarget, checkpoint: checkpointTarget,
            temporary: directory.appending(path: checkpointTemporaryName, directoryHint: .notDirectory))
    }
}
