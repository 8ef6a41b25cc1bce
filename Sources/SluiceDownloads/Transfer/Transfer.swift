#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif
import HTTPTypes
import SluiceFiles
import SluiceHTTP

/// Carries one file from its URL to its name, in one attempt that goes on where an earlier one stopped.
///
///     let result = try await transfer.run()
///     // … recorded that it is done …
///     await transfer.forget()
///
/// The bytes go to a partial file beside the target, which is locked: two processes never write the same one. A checkpoint
/// beside it says of which state of the server's file they are, and how many survive what (``Checkpoint``). Only a body of
/// the announced length gets the final name, after it is on disk as ``durability`` asks.
///
/// - What stays: a transfer that fails or is cancelled leaves the partial file with its checkpoint if the server named a
///   strong validator, and nothing if it did not. Bytes that a failed disk may have lost are removed.
/// - A file that changed on the server is no failure: it is taken from its first byte.
/// - A body that is known to be small, of a file of which nothing is there, is kept in memory and made a file in one step.
/// - Killed between the final name and the caller's record: see ``mayBePublished``.
struct Transfer {
    let request: DownloadRequest
    let transport: any Transport
    let files: FileIO
    let existing: ExistingFile
    let durability: Durability
    /// Whether an earlier attempt may have left a partial file. If it is known that none did, saying so saves a look.
    var mayResume = true
    /// Whether an earlier attempt of this same job may have given the file its name and died before that was recorded: then
    /// a target that is that file, or has the same bytes if it is small, is the job done.
    var mayBePublished = false
    var checkpoints = CheckpointPolicy()
    /// Told when a response brings bytes of the file: the length of the whole of it, if known, and how many bytes are there
    /// already. Then, after each arrival, how many are there.
    let onResponse: (_ announced: Int64?, _ present: Int64) -> Void
    let onReceived: (Int64) -> Void
    /// Told at each step, for tests.
    var onPhase: (TransferPhase) -> Void = { _ in }

    /// The longest body that is kept in memory: that of one write.
    static let smallBody = 256 * 1024

    /// How many bytes are gathered for one write of a longer body.
    static let writeSize = 256 * 1024

    /// Runs the attempt.
    ///
    /// - Throws: `TransferError`; `CancellationError`, after what is kept is on disk as ``durability`` asks.
    func run() async throws -> TransferResult {
        do {
            if mayBePublished, let size = try await sizeOfPublished() {
                return TransferResult(bytes: size, isCheckpointed: true)
            }
            let partial = mayResume ? try await PartialFile.openLocked(.ifCheckpointed, for: self) : nil
            var course = TransferCourse(transfer: self, partial: partial)
            do {
                return try await course.run()
            } catch {
                await course.partial?.leave(after: error, using: files, request.checkpointedPlaces)
                // Nobody will come back for it: the file that has its name counts as the download done.
                if existing == .skip, (error as? FileError)?.code == .exists { await forget() }
                throw error
            }
        } catch let failure as TransferFailure {
            throw error(of: failure)
        } catch let failure as FileError {
            throw failure.code == .exists && existing != .replace
                ? TransferError.fileExists(request) : .file(failure, of: request)
        } catch let known where known is CancellationError || known is TransferError {
            throw known
        } catch {
            // A transport of the application's own may throw any error.
            throw TransferError(.connectionFailed, url: request.url, detail: "\(error)", cause: error)
        }
    }

    /// Removes the checkpoint of a file that has its name, once nobody has to recognize it any more. Nothing is lost if it is
    /// not called, but a small file stays beside the target.
    ///
    /// - Cancellation: runs to its end.
    func forget() async {
        try? await Self.discardPartial(of: request, files: files)
    }

    /// Removes what an unfinished transfer left, partial file and checkpoint. Those of a transfer that is running, here or in
    /// another process, stay.
    ///
    /// - Cancellation: runs to its end.
    /// - Throws: `FileError`, if something is there and cannot be removed.
    static func discardPartial(of request: DownloadRequest, files: FileIO) async throws {
        try await CheckpointedFile.removeUnlessLocked(request.checkpointedPlaces, using: files)
    }

    /// Which of the requests may have something to go on from: what to tell each as ``mayResume``. One job for all, where a
    /// look for each small file would cost more than a tenth of its transfer.
    ///
    /// - Throws: `CancellationError`.
    static func mayResume(_ requests: some Sequence<DownloadRequest>, files: FileIO) async throws -> [Bool] {
        try await files.statuses(of: requests.map(\.checkpointPlace), followingLinks: false).map { found in
            if case .success(nil) = found { false } else { true }
        }
    }

    /// The size of the target if it is the file that an earlier attempt published.
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
                remedy: "The server handles ranges wrongly: download from another place, or tell its operator.")
        }
    }
}

/// What a transfer made.
struct TransferResult: Sendable, Hashable {
    /// The file's size.
    var bytes: Int64
    /// Whether there is a checkpoint to forget.
    var isCheckpointed: Bool
}
