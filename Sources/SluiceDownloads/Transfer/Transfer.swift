import HTTPTypes
import SluiceConcurrency
import SluiceFiles
import SluiceHTTP

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// One attempt to download a URL to a file. It continues where an earlier attempt stopped.
///
///     let result = try await transfer.run()
///     // … recorded that it is done …
///     try await Transfer.discardPartial(of: transfer.request, files: transfer.files)
///
/// The bytes go to a locked partial file beside the target, so that two processes never write the same one. A checkpoint beside it records
/// which version of the server's file the bytes belong to, and how many of them can be trusted (``Checkpoint``). The file gets its final
/// name only if the body has the announced length, and once it is on the disk as ``durability`` requires.
///
/// - A transfer that fails or is cancelled keeps the partial file and the checkpoint if the server sent a strong validator, and removes
///   them otherwise. Bytes that a failed disk may have lost are removed.
/// - If the file has changed on the server, it is downloaded from its first byte. That isn't an error.
/// - A body that is known to be small is kept in memory and written in one step if there is no partial file.
/// - If the request has a checksum, or the server sends a digest, other bytes fail the transfer and are removed (``TransferDigests``).
/// - If a process is killed after publishing the file but before recording that, see ``mayBePublished``.
struct Transfer {
    let request: DownloadRequest
    /// The URL to download, if it isn't the request's URL. The checkpoint belongs to the request's URL, because this one changes.
    var resolvedURL: URL?
    let transport: any Transport
    let files: FileIO
    let existing: ExistingFile
    let durability: Durability
    /// Whether an earlier attempt may have left a partial file. If false, the transfer skips a lookup.
    var mayResume = true
    /// Whether the server may compress the body, which is then stored decoded. Such a transfer isn't resumed.
    var decodesContent = false
    var cookies: CookieJar?
    /// Whether the file gets the name in the server's `Content-Disposition` field, if there is one.
    var takesServerName = false
    /// Called with the file's final URL if the server names it.
    var onServerName: (URL) -> Void = { _ in }
    /// Called with a mirror that sent wrong bytes of a segment, when they have been replaced.
    var onWrongMirror: (URL) -> Void = { _ in }
    /// Whether a file with the target's name may be the requested one. If it has the request's checksum, the transfer is complete.
    var verifiesTarget = false
    /// Whether an earlier attempt at this job may have published the file and died before that was recorded. If the target is that file, or
    /// a small file with the same bytes, the transfer is complete.
    var mayBePublished = false
    var checkpoints = CheckpointPolicy()
    /// The most bytes of the file; `nil` for no limit.
    var maximumSize: Int64?
    /// Whether the file gets the server's modification time.
    var keepsServerTime = false
    /// Whether an existing file is replaced only if the server has a newer one.
    var onlyIfNewer = false
    /// Whether the file's URL and checksum are stored in its extended attributes.
    var storesOrigin = false
    /// How a large file is downloaded in segments.
    var segments = SegmentPlan()
    /// Called after bytes were written, with their number and the host that they come from. Waits as long as the rate limits say.
    var pace: @Sendable (_ count: Int, _ host: String) async throws -> Void = { _, _ in }
    /// Called when a response contains bytes of the file, with the length of the whole file, if known, and the number of existing bytes.
    let onResponse: (_ announced: Int64?, _ present: Int64) -> Void
    /// Called each time bytes arrive, with the number of bytes so far.
    let onReceived: (Int64) -> Void
    var onPhase: (TransferPhase) -> Void = { _ in }

    /// The maximum length of a body that is kept in memory: the size of one write.
    static let smallBody = 256 * 1024

    static let writeSize = 256 * 1024

    /// - Throws: `TransferError`; `CancellationError`, after the kept bytes are on the disk as ``durability`` requires.
    func run() async throws -> TransferResult {
        var kept: Int64 = 0
        do {
            return try await attempt(&kept)
        } catch var error as TransferError {
            error.keptBytes = kept
            throw error
        }
    }

    /// - Parameter kept: The number of bytes that this attempt has left for the next one.
    private func attempt(_ kept: inout Int64) async throws -> TransferResult {
        do {
            if verifiesTarget, let result = try await resultOfVerifying() { return result }
            if mayBePublished, let result = try await resultOfEarlierAttempt() { return result }
            let partial = mayResume ? try await openPartial(.ifCheckpointed) : nil
            let existing = onlyIfNewer ? try await existingFile() : nil
            var exchanges = TransferExchanges(transfer: self, partial: partial, existing: existing)
            do {
                var result = try await exchanges.run()
                if keepsServerTime, !result.isSkipped {
                    await setTime(exchanges.modified, of: exchanges.published.target)
                    result.stamp = nil
                }
                return result
            } catch {
                kept = await exchanges.partial?.leave(after: error, using: files, request.checkpointedPlaces) ?? 0
                guard let failure = error as? FileError, failure.code == .exists else { throw error }
                return try await result(afterNameWasTaken: failure, from: exchanges)
            }
        } catch let published as Published {
            return TransferResult(bytes: published.bytes, isCheckpointed: true)
        } catch let failure as TransferFailure {
            throw TransferError(failure, of: request)
        } catch let failure as FileError {
            throw TransferError.file(failure, of: request)
        } catch let known where known is TransferError || (known is CancellationError && Task.isCancelled) {
            throw known
        } catch {
            // An app's transport may throw any error, even a cancellation of one of its own tasks.
            let sent = TransportRequest(resolvedURL ?? request.url, headerFields: request.headerFields)
            let detail = Redaction(of: sent).redacted("\(error)")
            throw TransferError(.connectionFailed, url: request.url, detail: detail, cause: error)
        }
    }

    /// Removes the partial file and the checkpoint of an unfinished transfer, or the checkpoint of a published file that is no longer
    /// needed to recognize the file. They stay if a transfer is using them, in this process or another, or if they are a user's own files
    /// that only have the same names. Ignores cancellation.
    ///
    /// - Throws: `FileError` if they can't be removed.
    static func discardPartial(of request: DownloadRequest, files: FileIO) async throws {
        try await CheckpointedFile.removeUnlessLocked(
            request.checkpointedPlaces, using: files, ifCheckpoint: Checkpoint.isCheckpoint)
    }

    /// Opens and locks the partial file. With `.ifCheckpointed`, returns `nil` unless an earlier attempt left a checkpoint.
    ///
    /// Throws ``Published`` if the job's file already has its final name. A worker that lost its lease, but not its lock, may have
    /// published the file before we took the lock. From then on, no other worker can.
    fileprivate func openPartial(_ mode: CheckpointedFile.OpeningMode) async throws -> PartialFile? {
        let partial = try await PartialFile.openLocked(mode, for: self)
        guard mayBePublished, let partial, case .complete(let bytes) = try await decide() else { return partial }
        // The checkpoint stays until the outcome is recorded.
        try await partial.file.close(appending: [], durability: .none) { _ in nil }
        throw Published(bytes: bytes)
    }

    private struct Published: Error {
        var bytes: Int64
    }

    // MARK: The target

    /// Returns the result if the existing file has the requested checksum. Returns `nil` if the file must be replaced, or if it's gone.
    private func resultOfVerifying() async throws -> TransferResult? {
        guard let checksum = request.checksum else { return nil }
        let found: Checksum
        do {
            found = try await TransferDigests.checksum(checksum.algorithm, of: request.target, using: files)
        } catch let error as FileError where error.code == .notFound {
            return nil
        }
        if found == checksum {
            return await skipped(try await files.status(of: request.target)?.size ?? 0)
        }
        switch existing {
        case .replace: return nil
        case .skip: throw TransferError.existingFileDiffers(request, found: found)
        case .fail: throw TransferError.fileExists(request)
        }
    }

    /// Returns the result if an earlier attempt published the file, or if an existing file is skipped. For other jobs, the targets were
    /// inspected when the attempts were prepared, many in one step.
    private func resultOfEarlierAttempt() async throws -> TransferResult? {
        switch try await decide() {
        case .download, .identify: nil
        case .complete(let bytes): TransferResult(bytes: bytes, isCheckpointed: true)
        case .skip(let bytes, _): await skipped(bytes)
        case .refuse(let refusal): throw refusal.error(for: request)
        }
    }

    /// Inspects the target, and reads the checkpoint to see whether it belongs to the target.
    private func decide() async throws -> TargetDecision {
        let found = try await CheckpointedFile.look(at: request.target, of: request.checkpointedPlaces, using: files)
        var facts = TargetFacts(target: .init(.success(found.status)), evidence: .noCheckpoint)
        if let data = found.checkpoint, let status = found.status {
            let isPublished = Checkpoint(data).map { checkpoint in
                status.kind == .file && checkpoint.url == Checkpoint.digest(of: request.url)
                    && checkpoint.isPublished(as: status.identity, size: status.size, boot: found.boot)
            }
            facts.evidence = isPublished == true ? .matches : .differs
        }
        return facts.decision(existing: existing, mayBePublished: mayBePublished)
    }

    /// Returns the result if the transfer is done even though the file couldn't get its name.
    private func result(
        afterNameWasTaken failure: FileError, from exchanges: TransferExchanges
    ) async throws -> TransferResult {
        let request = exchanges.published
        let status = try await files.status(of: request.target, followsLinks: false)
        // A partial file has a checkpoint, which doesn't belong to the target.
        var facts = TargetFacts(
            target: .init(.success(status)), evidence: exchanges.partial == nil ? .noCheckpoint : .differs)
        var decision = facts.decision(existing: existing, mayBePublished: mayBePublished)
        if decision == .identify {
            facts.evidence = try await isTarget(exchanges.smallBody, status) ? .matches : .differs
            decision = facts.decision(existing: existing, mayBePublished: mayBePublished)
        }
        switch decision {
        case .complete(let bytes): return TransferResult(bytes: bytes, isCheckpointed: false)
        // No later attempt will continue this file, because the existing target counts as the completed download.
        case .skip(let bytes, _): return await skipped(bytes)
        case .refuse(let refusal): throw refusal.error(for: request)
        // The target has disappeared again.
        case .download, .identify: throw failure
        }
    }

    /// Returns the file that the server's may be newer than. The server compares times, and not checksums.
    private func existingFile() async throws -> FileStatus? {
        guard request.checksum == nil, let status = try await files.status(of: request.target), status.kind == .file,
            HTTPDate.seconds.contains(status.modificationTime.seconds)
        else { return nil }
        return status
    }

    /// Gives the file the server's time, if the server sent one and the file system can store it. Ignores cancellation.
    private func setTime(_ time: HTTPDate?, of target: URL) async {
        guard let time else { return }
        await Task { [files] in
            try? await files.setTimes(
                of: target, modification: FileTime(seconds: time.secondsSince1970), followsLinks: false)
        }.value
    }

    fileprivate func skipped(_ bytes: Int64) async -> TransferResult {
        try? await Self.discardPartial(of: request, files: files)
        return TransferResult(bytes: bytes, isCheckpointed: false, isSkipped: true)
    }

    /// Whether the target has the bytes of a small file, which has no checkpoint to identify it.
    private func isTarget(_ data: Data, _ status: FileStatus?) async throws -> Bool {
        guard let status, status.kind == .file, status.size == data.count else { return false }
        do {
            return try await Data(asyncContentsOf: request.target, maximumSize: data.count, using: files) == data
        } catch let error as FileError where error.code == .limitExceeded {
            return false
        }
    }
}

struct TransferResult: Sendable, Hashable {
    var bytes: Int64
    var isCheckpointed: Bool
    /// Whether another file has the name and counts as the downloaded one.
    var isSkipped = false
    /// What the file was like when it got its name, if that is known.
    var stamp: FileStamp?
    /// The validator of the file on the server, if it is strong.
    var validator: StoredValidator?
}

/// The steps of a transfer, for tests that observe it or kill the process there.
///
/// ```text
/// requested ─▶ responded ─▶ receiving ─▶ checkpointed … ─▶ complete ─▶ published
/// ```
///
/// A small body is written and named in one step, so it skips `receiving` and `checkpointed`. A transfer that starts over, or requests the
/// rest of a range, returns to `requested`.
package enum TransferPhase: Sendable, Hashable, CaseIterable {
    case requested
    case responded
    /// The first bytes of this response are in the partial file.
    case receiving
    case checkpointed
    /// All bytes have arrived, and their number is right. The file doesn't have its final name yet.
    case complete
    /// The file has its final name. The checkpoint still exists, so that a later process can recognize the file if this one dies now.
    case published
}

// MARK: - The exchanges

/// The requests and responses of a running transfer, until the file is complete and has its name.
private struct TransferExchanges {
    private let transfer: Transfer
    private var machine: TransferStateMachine
    private(set) var partial: PartialFile?
    /// The request with the name that the file gets.
    private(set) var published: DownloadRequest
    /// The body that was written in one step, without a partial file.
    private(set) var smallBody = Data()
    private let digests: TransferDigests
    private var validator: Validator?
    /// False once segments have turned out to be unusable.
    private var usesSegments = true
    /// The file that is replaced only by a newer one.
    private let existing: FileStatus?
    /// The server's modification time of the file.
    private(set) var modified: HTTPDate?

    init(transfer: Transfer, partial: PartialFile?, existing: FileStatus?) {
        self.existing = existing
        self.transfer = transfer
        self.partial = partial
        published = transfer.request
        validator = partial?.present?.validator
        machine = TransferStateMachine(present: partial?.present, isConditional: existing != nil)
        digests = TransferDigests(
            requested: transfer.request.checksum,
            recorded: transfer.storesOrigin ? transfer.request.checksum?.algorithm ?? .sha256 : nil)
    }

    mutating func run() async throws -> TransferResult {
        if let result = try await continueSegments() { return result }
        while true {
            let response = try await ask()
            var start: Int64 = 0
            let answer = try answer(of: response)
            takeName(from: response.headerFields)
            switch answer {
            case .whole(let announced, let validator):
                if isUnchanged(announced) { return try await unchanged() }
                try check(announced)
                self.validator = validator
                transfer.onResponse(announced, 0)
                digests.begin(response.headerFields)
                if partial == nil, let announced, announced <= Transfer.smallBody {
                    return try await storeSmall(response, of: announced)
                }
                let partial = try await openPartial()
                if usesSegments, let announced, let validator,
                    transfer.segments.covers(announced, validator, response.headerFields),
                    try await partial.beginSegments(of: announced, validator)
                {
                    let map = SegmentMap(total: announced)
                    if let result = try await fetch(map, response, into: partial, validator) { return result }
                    machine = TransferStateMachine()
                    continue
                }
                try await partial.begin(validator, total: announced)
                guard try await receive(response.body, into: partial) else { continue }
            case .rest(let offset, let total):
                try check(total)
                start = offset
                let partial = try await openPartial()
                try await partial.resume(at: offset)
                transfer.onResponse(total, offset)
                try await resumeDigests(at: offset, response.headerFields)
                guard try await receive(response.body, into: partial) else { continue }
            case .complete(let size):
                let partial = try await openPartial()
                try await partial.resume(at: size)
                transfer.onResponse(size, size)
                try await resumeDigests(at: size, [:])
                return try await publish(partial, size)
            case .startAgain:
                try await partial?.empty()
                continue
            case .askWithDate: continue
            case .unchanged: return try await unchanged()
            }
            let end = try machine.ended()
            try digests.verifyMessage()
            let partial = try await openPartial()
            var isLast = false
            if case .complete = end { isLast = true }
            try await digests.verifyTrailers(
                of: response, start..<partial.size, isLast: isLast, in: transfer.request.partialTarget,
                using: transfer.files)
            if case .complete(let size) = end {
                return try await publish(partial, size)
            }
        }
    }

    // MARK: Segments

    /// Continues the segments that an earlier transfer has left. Returns `nil` if there are none, or if they can't be continued.
    private mutating func continueSegments() async throws -> TransferResult? {
        guard let partial, let (map, validator) = partial.presentSegments else { return nil }
        try check(map.total)
        guard try await partial.resumeSegments(map) else { return nil }
        self.validator = validator
        transfer.onResponse(map.total, map.receivedBytes)
        return try await fetch(map, nil, into: partial, validator)
    }

    /// Downloads the missing segments. Returns `nil` if the file has changed, and must be downloaded again from its first byte.
    private mutating func fetch(
        _ map: SegmentMap, _ whole: TransportResponse?, into partial: PartialFile, _ validator: Validator
    ) async throws -> TransferResult? {
        guard let segments = try await receive(map, whole, into: partial, validator, mirrors: true) else { return nil }
        if whole == nil {
            noteTime(in: segments.headerFields)
            takeName(from: segments.headerFields)
        }
        let fields = whole?.headerFields ?? segments.headerFields
        try await resumeDigests(at: map.total, fields)
        var checksum: Checksum?
        do {
            checksum = try digests.verifyFile()
        } catch {
            guard !segments.mirrored.isEmpty else { throw error }
            guard try await replace(segments.mirrored, of: map.total, in: partial, validator) else { return nil }
            try await resumeDigests(at: map.total, fields)
            checksum = try digests.verifyFile()
        }
        return try await publish(partial, map.total, verifiedAs: checksum)
    }

    /// Downloads what came from mirrors again, from the file's own server, and reports the mirrors that sent other bytes. Returns `false`
    /// if the file has changed.
    private mutating func replace(
        _ mirrored: MirroredBytes, of total: Int64, in partial: PartialFile, _ validator: Validator
    ) async throws -> Bool {
        let file = transfer.request.partialTarget
        let before = try await mirrored.checksums(in: file, using: transfer.files)
        let map = SegmentMap(total: total, missing: mirrored.ranges)
        guard try await partial.resumeSegments(map),
            try await receive(map, nil, into: partial, validator, mirrors: false) != nil
        else { return false }
        let after = try await mirrored.checksums(in: file, using: transfer.files)
        mirrored.mirrors(whose: before, differFrom: after).forEach(transfer.onWrongMirror)
        return true
    }

    /// Returns `nil` if the file has changed, or if the server refuses ranges.
    private mutating func receive(
        _ map: SegmentMap, _ whole: TransportResponse?, into partial: PartialFile, _ validator: Validator, mirrors: Bool
    ) async throws -> SegmentedTransfer? {
        let own = SegmentPlan.Source(
            url: transfer.resolvedURL ?? transfer.request.url, headerFields: transfer.request.headerFields,
            cookies: transfer.cookies, host: transfer.segments.host)
        var plan = transfer.segments
        if !mirrors { (plan.mirrors, plan.limits.usesDuplicates) = ([], false) }
        let segments = SegmentedTransfer(
            map, validator, of: partial.file, from: own, plan, whole: whole, transport: transfer.transport,
            pace: transfer.pace)
        do {
            try await receive(segments, into: partial)
            return segments
        } catch is SegmentedTransfer.MustStartAgain {
        } catch let refused as SegmentRefused {
            let now = noteTime(in: refused.headerFields)
            let error = TransferError(.status(refused.status), of: transfer.request, refused.headerFields, now: now)
            // A server may refuse every range.
            guard whole != nil, !error.isTransient else { throw error }
        }
        usesSegments = false
        try await partial.empty()
        return nil
    }

    private func receive(_ segments: SegmentedTransfer, into partial: PartialFile) async throws {
        defer { partial.noteWritten(segments.map) }
        try await withThrowingTaskGroup(of: Checkpoint.self) { syncs in
            var hasReceived = false
            try await segments.run { map in
                transfer.onReceived(map.receivedBytes)
                if !hasReceived, map.writtenBytes > 0 {
                    hasReceived = true
                    transfer.onPhase(.receiving)
                }
                try await partial.checkpointIfDue(map, in: &syncs)
            }
            try await partial.collect(from: &syncs)
        }
    }

    // MARK: Responses

    /// Whether the existing file is the server's, although the server doesn't know If-Modified-Since.
    private func isUnchanged(_ announced: Int64?) -> Bool {
        guard let existing, let modified, existing.size == announced else { return false }
        return modified.secondsSince1970 <= existing.modificationTime.seconds
    }

    private mutating func unchanged() async throws -> TransferResult {
        if let partial { try await partial.empty() }
        _ = await partial?.leave(
            after: CancellationError(), using: transfer.files, transfer.request.checkpointedPlaces)
        return await transfer.skipped(existing?.size ?? 0)
    }

    /// A name that isn't safe is made safe, and one that is reserved for partial files isn't taken.
    private mutating func takeName(from fields: HTTPFields) {
        guard transfer.takesServerName, let field = fields.value(of: .contentDisposition),
            let name = SafeFileName.suggested(byContentDisposition: field), name != published.name
        else { return }
        var named = transfer.request
        named.name = name
        guard !named.hasReservedName else { return }
        published = named
        transfer.onServerName(named.target)
    }

    private func check(_ size: Int64?) throws(TransferFailure) {
        if let size, let limit = transfer.maximumSize, size > limit { throw .tooLarge(limit: limit) }
    }

    private func resumeDigests(at offset: Int64, _ fields: HTTPFields) async throws {
        try await digests.resume(at: offset, of: transfer.request.partialTarget, fields, using: transfer.files)
    }

    private func ask() async throws -> TransportResponse {
        var fields = transfer.request.headerFields
        switch machine.question {
        case .rest(let offset, let validator):
            fields[.range] = "bytes=\(offset)-"
            fields[.ifRange] = validator.field
        case .whole:
            if let existing {
                fields[.ifModifiedSince] = HTTPDate(secondsSince1970: existing.modificationTime.seconds).description
            }
        }
        transfer.onPhase(.requested)
        var request = TransportRequest(transfer.resolvedURL ?? transfer.request.url, headerFields: fields)
        request.cookies = transfer.cookies
        request.decodesContent = transfer.decodesContent
        let response = try await transfer.transport.open(request)
        transfer.onPhase(.responded)
        return response
    }

    private mutating func answer(of response: TransportResponse) throws -> TransferStateMachine.Answer {
        let now = noteTime(in: response.headerFields)
        do {
            // The length of an encoded body isn't the length of the file.
            let isDecoded = transfer.decodesContent && TransferStateMachine.isEncoded(response.headerFields)
            return try machine.responded(
                status: response.status, headerFields: response.headerFields,
                contentLength: isDecoded ? nil : response.contentLength, now: now)
        } catch {
            throw TransferError(error, of: transfer.request, response.headerFields, now: now)
        }
    }

    /// Notes the file's modification time, if it matters. Returns the current time.
    @discardableResult
    private mutating func noteTime(in fields: HTTPFields) -> HTTPDate {
        let now = HTTPDate(secondsSince1970: Int64(Date().timeIntervalSince1970))
        if transfer.keepsServerTime || existing != nil,
            let date = fields.value(of: .lastModified).flatMap({ HTTPDate(parsing: $0, now: now) })
        {
            modified = date
        }
        return now
    }

    private mutating func openPartial() async throws -> PartialFile {
        if let partial { return partial }
        guard let opened = try await transfer.openPartial(.always) else {
            preconditionFailure("A file that is always created wasn't opened.")
        }
        partial = opened
        return opened
    }

    /// Reads a small body completely, then writes, syncs and names the file in one operation of the file pool. A list of small files takes
    /// this path for each of them; decision 0055 says what its steps cost.
    ///
    /// ```text
    /// worker's task      ask ─┐                  ┌─ here: verify ─┐                          ┌─ settle, take the next job
    /// libcurl's thread        └─ send, receive ──┘                │
    /// file pool                                                   └─ create, write, rename ──┘
    /// ```
    private mutating func storeSmall(_ response: TransportResponse, of announced: Int64) async throws -> TransferResult
    {
        var data = Data()
        var iterator = response.body.makeAsyncIterator()
        // The body has usually arrived together with the head, so this doesn't wait.
        while let batch = try await iterator.nextBatch() {
            for chunk in batch {
                // More bytes than were announced are an error.
                guard let received = try machine.received(chunk.count) else {
                    preconditionFailure("A whole body became unusable.")
                }
                // A body in one piece isn't copied.
                if data.isEmpty, received == announced {
                    data = chunk
                } else {
                    data.append(chunk)
                }
                transfer.onReceived(received)
            }
            digests.update(batch)
            // Waits only if there is a rate limit.
            try await transfer.pace(batch.reduce(0) { $0 + $1.count }, transfer.segments.host)
        }
        // Fewer bytes than were announced, or wrong ones, leave no file.
        _ = try machine.ended()
        let checksum = try digests.verifyFile()
        transfer.onPhase(.complete)
        // The name is chosen, so that the next attempt finds and removes what a killed process has left. The rename refuses a name that is
        // taken, so nothing has to be looked up before.
        var options = FileWriteOptions(
            durability: transfer.durability, existing: transfer.existing == .replace ? .replace : .fail,
            temporaryName: transfer.request.temporaryName)
        options.attributes = origin(checksum).attributes
        // If the name turns out to be taken, the bytes tell whether it is this file.
        smallBody = data
        // The status of the written file is the stamp in its record, so it isn't looked up again.
        let status = try await data.asyncWriteWithStatus(
            to: published.name, in: published.targetDirectory.known, options: options, using: transfer.files)
        transfer.onPhase(.published)
        return TransferResult(
            bytes: announced, isCheckpointed: false, stamp: status.map { FileStamp($0) },
            validator: validator.map { StoredValidator($0) })
    }

    /// Receives a body into the partial file. Returns `false` if it turned out to be unusable and the whole file must be requested again.
    private mutating func receive(_ body: ResponseBody, into partial: PartialFile) async throws -> Bool {
        let (before, digests) = (partial.size, digests)
        // Bytes are hashed while the next ones arrive.
        let unhashed = AsyncBoundedQueue<[Data]>(capacity: 2)
        async let hashing: Void = digests.update(from: unhashed)
        let isHashing = digests.isHashing
        var announced = false
        let isUsable = try await withThrowingTaskGroup(of: Checkpoint.self) { syncs in
            var iterator = body.makeAsyncIterator()
            while let batch = try await iterator.nextBatch() {
                for chunk in batch {
                    guard let received = try machine.received(chunk.count) else {
                        try await partial.collect(from: &syncs)
                        try await partial.empty()
                        return false
                    }
                    try check(received)
                    transfer.onReceived(received)
                }
                if isHashing { _ = try await unhashed.send(batch) }
                // Pass received bytes on to the disk before waiting again.
                try await partial.take(batch)
                if !announced, partial.size > before {
                    announced = true
                    transfer.onPhase(.receiving)
                }
                try await partial.checkpointIfDue(in: &syncs)
                try await transfer.pace(batch.reduce(0) { $0 + $1.count }, transfer.segments.host)
            }
            try await partial.flush()
            if !announced, partial.size > before { transfer.onPhase(.receiving) }
            try await partial.collect(from: &syncs)
            return true
        }
        if isUsable {
            unhashed.finish()
            await hashing
        }
        return isUsable
    }

    /// What is stored about the file in its extended attributes.
    private func origin(_ checksum: Checksum?) -> FileOrigin {
        guard transfer.storesOrigin else { return FileOrigin() }
        return FileOrigin(url: transfer.resolvedURL ?? transfer.request.url, checksum: checksum)
    }

    private func publish(_ partial: PartialFile, _ size: Int64) async throws -> TransferResult {
        try await publish(partial, size, verifiedAs: try digests.verifyFile())
    }

    private func publish(
        _ partial: PartialFile, _ size: Int64, verifiedAs checksum: Checksum?
    ) async throws -> TransferResult {
        transfer.onPhase(.complete)
        await origin(checksum).store(in: transfer.request.partialTarget, using: transfer.files)
        try await partial.publish(
            as: published.target, size: size, existing: transfer.existing == .replace ? .replace : .fail)
        transfer.onPhase(.published)
        return TransferResult(bytes: size, isCheckpointed: true, validator: validator.map { StoredValidator($0) })
    }
}
