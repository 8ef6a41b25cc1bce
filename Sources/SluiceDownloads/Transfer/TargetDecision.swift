import SluiceFiles
import SluiceHTTP
import SluiceLock

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// What to do with a download if something already has the name of its file: the one answer to "what if the target exists?".
///
/// Everything that inspects a target uses this function: a list before it adds jobs, an attempt before its transfer, a transfer before its
/// request and when another program has taken the name in the meantime, and a queue that checks whether a completed download's file still
/// exists (``TargetFacts/isGone``).
///
/// ```text
/// the target                                        existing: fail        skip          replace
/// ────────────────────────────────────────────────────────────────────────────────────────────────
/// nothing has the name                              download              download      download
/// a directory, a device, a FIFO or a socket         refuse                refuse        refuse
/// a name that can't be looked up                    refuse                refuse        refuse
/// a file                                            refuse                skip          download
/// a file that this job may have published:
///   the evidence matches                            complete              complete      complete
///   the checkpoint hasn't been read yet             identify              identify      identify
///   there is no checkpoint                          identify              skip          download
///   the evidence is about another file              refuse                skip          download
/// ```
enum TargetDecision: Sendable, Equatable {
    /// Download the file. If `resuming` is false, there is definitely no partial file to continue.
    case download(resuming: Bool)
    /// The target may be this job's file, from an attempt that died after publishing it. Only the transfer can tell: it reads the
    /// checkpoint or, for a small file, which has none, compares the bytes.
    case identify
    /// The target is this job's file. All that's left is to record that.
    case complete(bytes: Int64)
    /// The existing file counts as the downloaded one, and isn't changed. If `hasLeftovers` is true, an earlier attempt may have left
    /// behind a partial file or a checkpoint, which is no longer needed.
    case skip(bytes: Int64, hasLeftovers: Bool)
    /// The download fails.
    case refuse(Refusal)

    /// Why a target can't be written.
    enum Refusal: Sendable, Equatable {
        case exists
        /// A directory, a device, a FIFO or a socket can't be replaced, and isn't the downloaded file either.
        case notAFile(FileError.Code)
        case cannotBeLookedUp(FileError)
    }

    /// - Parameters:
    ///   - target: What currently has the file's name.
    ///   - evidence: Evidence of whether the target is this job's file.
    ///   - mayBePublished: Whether an earlier attempt at this job may have published the file without recording it.
    init(
        existing: ExistingFile, target: TargetFacts.Target, evidence: TargetFacts.Evidence, mayBePublished: Bool
    ) {
        let isAlone = evidence == .noCheckpoint
        switch (target, existing) {
        case (.nothing, _): self = .download(resuming: !isAlone)
        case (.notAFile(let code), _): self = .refuse(.notAFile(code))
        case (.unknown(let failure), _): self = .refuse(.cannotBeLookedUp(failure))
        case (.file(let bytes), _) where mayBePublished && evidence == .matches: self = .complete(bytes: bytes)
        case (.file, _) where mayBePublished && evidence == .unread: self = .identify
        case (.file(let bytes), .skip): self = .skip(bytes: bytes, hasLeftovers: !isAlone)
        case (.file, .replace): self = .download(resuming: !isAlone)
        case (.file, .fail): self = mayBePublished && isAlone ? .identify : .refuse(.exists)
        }
    }
}

extension TargetDecision.Refusal {
    func error(for request: DownloadRequest) -> TransferError {
        switch self {
        case .exists: .fileExists(request)
        case .notAFile(let code):
            .file(
                FileError(
                    code: code, operation: "write", path: request.target.path(percentEncoded: false),
                    remedy: "Choose another name, or remove \(code == .isDirectory ? "the directory" : "it")."),
                of: request)
        case .cannotBeLookedUp(let failure): .file(failure, of: request)
        }
    }
}

// MARK: - The facts

/// What is known about a download's target, and about a checkpoint beside it.
struct TargetFacts: Sendable, Equatable {
    enum Target: Sendable, Equatable {
        case nothing
        /// A regular file or a symbolic link. A dangling link also occupies its name.
        case file(bytes: Int64)
        /// Anything else, with the code of the error: `isDirectory` or `notRegularFile`.
        case notAFile(FileError.Code)
        case unknown(FileError)
    }

    enum Evidence: Sendable, Equatable {
        case noCheckpoint
        /// Something has the checkpoint's name, but hasn't been read yet.
        case unread
        /// The checkpoint belongs to the target. Or the target is a small file that has the downloaded bytes.
        case matches
        /// The checkpoint belongs to another file, or the bytes differ.
        case differs
    }

    var target: Target
    var evidence: Evidence
    /// What tells whether the file has been changed; `nil` if there is no regular file.
    var stamp: FileStamp?

    func decision(existing: ExistingFile, mayBePublished: Bool) -> TargetDecision {
        TargetDecision(existing: existing, target: target, evidence: evidence, mayBePublished: mayBePublished)
    }

    /// Whether the file of a completed download is gone, so that it is downloaded again. An existing file is kept, as with `skip`. A file
    /// that can't be looked up counts as existing, because the worker that wrote it may see it.
    var isGone: Bool {
        switch decision(existing: .skip, mayBePublished: false) {
        case .download, .refuse(.notAFile): true
        case .identify, .complete, .skip, .refuse: false
        }
    }
}

extension TargetFacts.Target {
    init(_ found: Result<FileStatus?, FileError>) {
        self =
            switch found {
            case .success(nil): .nothing
            case .success(let status?):
                switch status.kind {
                case .file, .symbolicLink: .file(bytes: status.size)
                case .directory: .notAFile(.isDirectory)
                default: .notAFile(.notRegularFile)
                }
            case .failure(let failure): .unknown(failure)
            }
    }
}

// MARK: - Looking

extension TargetFacts {
    /// Inspects the targets and checkpoints of many requests in one pool job. Inspecting each small file separately would cost a thread
    /// hop, which takes a tenth of the time of its transfer.
    ///
    /// - Throws: `CancellationError`.
    static func of(_ requests: [DownloadRequest], using files: FileIO) async throws -> [TargetFacts] {
        let names = requests.map(\.targetPlace) + requests.map(\.checkpointPlace)
        let found = try await files.statuses(of: names, followsLinks: false)
        return requests.indices.map { index in
            let hasNoCheckpoint = if case .success(nil) = found[requests.count + index] { true } else { false }
            var facts = TargetFacts(target: Target(found[index]), evidence: hasNoCheckpoint ? .noCheckpoint : .unread)
            if case .success(let status?) = found[index], status.kind == .file { facts.stamp = FileStamp(status) }
            return facts
        }
    }

    private static let batch = 256

    /// The same in batches, for any number of requests. Calls `body` with each result and the offset of its request. Ends early if the task
    /// is cancelled.
    static func of(
        _ requests: some RandomAccessCollection<DownloadRequest>, using files: FileIO,
        forEach body: (_ offset: Int, TargetFacts) -> Void
    ) async {
        var rest = requests[...]
        var offset = 0
        while !rest.isEmpty, !Task.isCancelled, let found = try? await of(Array(rest.prefix(batch)), using: files) {
            rest = rest.dropFirst(batch)
            for facts in found {
                body(offset, facts)
                offset += 1
            }
        }
    }
}

extension DownloadRequest {
    /// Returns the indices of the completed downloads whose files are gone, so that they are downloaded again. Also removes the checkpoints
    /// of processes that died after they recorded the download, but before they removed the checkpoint. Directories must be absolute.
    static func indicesOfGoneFiles(of completed: [DownloadRequest], using files: FileIO) async -> [Int] {
        let found = (try? await TargetFacts.of(completed, using: files)) ?? []
        for (request, facts) in zip(completed, found) where facts.evidence != .noCheckpoint {
            try? await Transfer.discardPartial(of: request, files: files)
        }
        return found.indices.filter { found[$0].isGone }
    }
}
