#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif
import SluiceFiles
import SluiceHTTP

/// Carries one file from its URL to its name, in one attempt.
///
/// The bytes go to a partial file beside the target, which is locked: two processes never write the same one. Only a body
/// of the announced length gets the final name, after it is on disk as ``durability`` asks. Whatever fails, the final name
/// is untouched and the partial file removed; a killed process leaves a partial file that the next attempt writes anew.
///
/// A body that is known to be small is kept in memory and made a file in one step.
struct Transfer {
    let request: DownloadRequest
    let transport: any Transport
    let files: FileIO
    let existing: ExistingTarget
    let durability: Durability
    /// Told when the response is there, with its announced length, and then with the number of bytes so far.
    let onResponse: (Int64?) -> Void
    let onReceived: (Int64) -> Void

    /// The longest body that is kept in memory: that of one write.
    static let smallBody = 256 * 1024

    /// How many bytes are gathered for one write of a longer body.
    static let writeSize = 256 * 1024

    /// Runs the attempt and returns the file's size in bytes.
    ///
    /// - Throws: ``DownloadError``; `CancellationError`, after the partial file is gone.
    func run() async throws -> Int64 {
        do {
            var machine = TransferStateMachine()
            let response = try await transport.open(
                TransportRequest(request.url, headerFields: request.headerFields))
            let announced: Int64?
            do {
                announced = try machine.responded(status: response.status, contentLength: response.contentLength)
            } catch {
                throw retryLater(error, response)
            }
            onResponse(announced)
            if let announced, announced <= Self.smallBody {
                return try await storeSmall(response.body, of: announced, &machine)
            }
            return try await stream(response.body, &machine)
        } catch let failure as TransferFailure {
            throw error(failure.reason)
        } catch let failure as TransportError {
            throw error(.transport(failure))
        } catch let failure as FileError {
            throw error(failure.code == .exists && existing != .replace ? .targetExists : .file(failure))
        } catch let known where known is CancellationError || known is DownloadError {
            throw known
        } catch {
            // A transport of somebody else's may throw what it likes.
            throw self.error(
                .transport(TransportError(.connectionFailed, url: request.url, cause: "\(error)")))
        }
    }

    /// A small body: read whole, then written, synchronized and named in one job of the files' pool.
    private func storeSmall(
        _ body: ResponseBody, of announced: Int64, _ machine: inout TransferStateMachine
    ) async throws -> Int64 {
        var data = Data()
        var iterator = body.makeAsyncIterator()
        while let batch = try await iterator.nextBatch() {
            for chunk in batch {
                let received = try machine.received(chunk.count)
                if data.isEmpty, received == announced {
                    data = chunk
                } else {
                    data.append(chunk)
                }
                onReceived(received)
            }
        }
        let size = try machine.ended()
        let options = FileWriteOptions(
            durability: durability, existing: existing == .replace ? .replace : .fail,
            temporaryName: request.partialName)
        try await data.asyncWrite(to: request.target, options: options, using: files)
        return size
    }

    /// A body of any length: written as it comes, then synchronized and named.
    private func stream(_ body: ResponseBody, _ machine: inout TransferStateMachine) async throws -> Int64 {
        let partial = try await request.partialTarget.openForWriting(.truncate, lock: .exclusive, using: files)
        let size: Int64
        do {
            size = try await write(body, to: partial, &machine)
        } catch {
            try? await partial.discard()
            throw error
        }
        try await partial.publish(
            as: request.target, existing: existing == .replace ? .replace : .fail, durability: durability,
            removingOnFailure: true)
        return size
    }

    private func write(
        _ body: ResponseBody, to partial: borrowing AsyncFileStream<WriteMode>, _ machine: inout TransferStateMachine
    ) async throws -> Int64 {
        var gathered: [Data] = []
        var gatheredBytes = 0
        var iterator = body.makeAsyncIterator()
        while let batch = try await iterator.nextBatch() {
            for chunk in batch {
                gatheredBytes += chunk.count
                onReceived(try machine.received(chunk.count))
            }
            gathered += batch
            // What has arrived is on its way to the disk before more is waited for, in writes worth their switch of thread.
            if gatheredBytes >= Self.writeSize {
                try await partial.write(gathered)
                gathered.removeAll(keepingCapacity: true)
                gatheredBytes = 0
            }
        }
        let size = try machine.ended()
        if gatheredBytes > 0 { try await partial.write(gathered) }
        return size
    }

    private func error(_ reason: DownloadError.Reason) -> DownloadError {
        DownloadError(reason, url: request.url, target: request.target)
    }

    private func retryLater(_ failure: TransferFailure, _ response: TransportResponse) -> DownloadError {
        var error = error(failure.reason)
        let now = HTTPDate(secondsSince1970: Int64(Date().timeIntervalSince1970))
        error.retryAfter = RetryPolicy.retryAfter(in: response.headerFields, now: now)
        return error
    }
}

extension Transfer {
    static func forget(_ request: DownloadRequest, files: FileIO) async {}
    static func discardPartial(of request: DownloadRequest, files: FileIO) async throws {}
}
