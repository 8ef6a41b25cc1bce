#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif
import HTTPTypes
import SluiceFiles
import SluiceHTTP

/// One attempt to download a URL to a file, which continues where an earlier attempt stopped.
///
///     let result = try await transfer.run()
///     // … recorded that it is done …
///     await transfer.forget()
///
/// The bytes go to a locked partial file beside the target, so that two processes never write the same one. A checkpoint beside it
/// records the state of the server's file to which the bytes belong, and how many of them can be trusted (``Checkpoint``). The file gets
/// its final name only if the body has the announced length, and after it is on the disk as ``durability`` requires.
///
/// - A transfer that fails or is cancelled keeps the partial file and the checkpoint if the server sent a strong validator, and removes
///   them otherwise. Bytes that a failed disk may have lost are removed.
/// - If the file has changed on the server, it is downloaded from its first byte. That isn't an error.
/// - A body that is known to be small is kept in memory and written in one step if there is no partial file.
/// - For a process that is killed between publishing the file and recording that, see ``mayBePublished``.
struct Transfer {
    let request: DownloadRequest
    /// The URL to download, if it isn't that of the request. The checkpoint belongs to the request's, because this one changes.
    var resolvedURL: URL?
    let transport: any Transport
    let files: FileIO
    let existing: ExistingFile
    let durability: Durability
    /// Whether an earlier attempt may have left a partial file. False saves a lookup.
    var mayResume = true
    /// Whether an earlier attempt of this job may have published the file and died before that was recorded. If the target is that file,
    /// or a small file with the same bytes, the transfer is complete.
    var mayBePublished = false
    var checkpoints = CheckpointPolicy()
    /// Called when a response brings bytes of the file, with the length of the whole file, if known, and the number of existing bytes.
    let onResponse: (_ announced: Int64?, _ present: Int64) -> Void
    /// Called after each arrival, with the number of bytes that exist then.
    let onReceived: (Int64) -> Void
    var onPhase: (TransferPhase) -> Void = { _ in }

    /// The maximum length of a body that is kept in memory: that of one write.
    static let smallBody = 256 * 1024

    static let writeSize = 256 * 1024

    /// - Throws: `TransferError`; `CancellationError`, after the kept bytes are on the disk as ``durability`` requires.
    func run() async throws -> TransferResult {
        do {
            if mayBePublished, let size = try await sizeOfPublished() {
                return TransferResult(bytes: size, isCheckpointed: true)
            }
            let partial = mayResume ? try await openPartial(.ifCheckpointed) : nil
            var course = TransferCourse(transfer: self, partial: partial)
            do {
                return try await course.run()
            } catch {
                await course.partial?.leave(after: error, using: files, request.checkpointedPlaces)
                // No later attempt continues this file, because the existing target counts as the completed download.
                if existing == .skip, (error as? FileError)?.code == .exists { await forget() }
                throw error
            }
        } catch let published as Published {
            return TransferResult(bytes: published.bytes, isCheckpointed: true)
        } catch let failure as TransferFailure {
            throw error(of: failure)
        } catch let failure as FileError {
            throw failure.code == .exists && existing != .replace
                ? TransferError.fileExists(request) : .file(failure, of: request)
        } catch let known where known is TransferError || (known is CancellationError && Task.isCancelled) {
            throw known
        } catch {
            // An application's transport may throw any error, even the cancellation of one of its own tasks.
            let sent = TransportRequest(resolvedURL ?? request.url, headerFields: request.headerFields)
            let detail = Redaction(of: sent).redacted("\(error)")
            throw TransferError(.connectionFailed, url: request.url, detail: detail, cause: error)
        }
    }

    /// Removes the checkpoint of a published file when it is no longer needed to recognize the file. Ignores cancellation.
    func forget() async {
        try? await Self.discardPartial(of: request, files: files)
    }

    /// Removes the partial file and the checkpoint of an unfinished transfer, unless a transfer is using them, in this process or in
    /// another, or they are files of a user that only have the same names. Ignores cancellation.
    ///
    /// - Throws: `FileError` if they can't be removed.
    static func discardPartial(of request: DownloadRequest, files: FileIO) async throws {
        try await CheckpointedFile.removeUnlessLocked(
            request.checkpointedPlaces, using: files, ifCheckpoint: Checkpoint.isCheckpoint)
    }

    /// Returns the value of ``mayResume`` for each request. The lookup is one operation for all, because a lookup for each small file
    /// would take more than a tenth of the time of its transfer.
    ///
    /// - Throws: `CancellationError`.
    static func mayResume(_ requests: some Sequence<DownloadRequest>, files: FileIO) async throws -> [Bool] {
        try await files.statuses(of: requests.map(\.checkpointPlace), followingLinks: false).map { found in
            if case .success(nil) = found { false } else { true }
        }
    }

    /// Opens and locks the partial file. With `.ifCheckpointed`, returns `nil` unless an earlier attempt left a checkpoint.
    ///
    /// Throws ``Published`` if the job's file has its final name by now. A worker that has lost its lease, but not its lock, may have given
    /// it that name until this lock was taken, and no other worker can do it from then on.
    func openPartial(_ mode: CheckpointedFile.OpeningMode) async throws -> PartialFile? {
        let partial = try await PartialFile.openLocked(mode, for: self)
        guard mayBePublished, let partial, let size = try await sizeOfPublished() else { return partial }
        // The checkpoint stays until the outcome is recorded.
        try await partial.file.close(appending: [], durability: .none) { _ in nil }
        throw Published(bytes: size)
    }

    private struct Published: Error {
        var bytes: Int64
    }

    private func sizeOfPublished() async throws -> Int64? {
        guard
            let found = try await CheckpointedFile.published(
                request.checkpointedPlaces, as: request.target, using: files),
            let checkpoint = Checkpoint(found.checkpoint), checkpoint.url == Checkpoint.digest(of: request.url),
            checkpoint.isPublished(as: found.identity, size: found.size, boot: found.boot)
        else { return nil }
        return found.size
    }

    // MARK: Errors

    func error(of failure: TransferFailure) -> TransferError {
        switch failure {
        case .status(let status): TransferError(status: status, url: request.url)
        case .length(let announced, let received):
            .length(announced: announced, received: received, url: request.url)
        case .range(let detail):
            TransferError(
                .protocolViolation, url: request.url, detail: detail,
                remedy: "Download it from another server, or report the faulty ranges to the server's operator.")
        }
    }
}

struct TransferResult: Sendable, Hashable {
    var bytes: Int64
    var isCheckpointed: Bool
}
