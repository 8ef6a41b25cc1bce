#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif
import HTTPTypes
import SluiceFiles
import SluiceHTTP

struct TransferCourse {
    private let transfer: Transfer
    private var machine: TransferStateMachine
    private(set) var partial: PartialFile?

    init(transfer: Transfer, partial: PartialFile?) {
        self.transfer = transfer
        self.partial = partial
        machine = TransferStateMachine(present: partial?.present)
    }

    mutating func run() async throws -> TransferResult {
        while true {
            let response = try await ask()
            switch try answer(of: response) {
            case .whole(let announced, let validator):
                transfer.onResponse(announced, 0)
                if partial == nil, let announced, announced <= Transfer.smallBody {
                    return try await storeSmall(response.body, of: announced)
                }
                let partial = try await openPartial()
                try await partial.begin(validator, total: announced)
                guard try await receive(response.body, into: partial) else { continue }
            case .rest(let offset, let total):
                let partial = try await openPartial()
                try await partial.resume(at: offset)
                transfer.onResponse(total, offset)
                guard try await receive(response.body, into: partial) else { continue }
            case .complete(let size):
                let partial = try await openPartial()
                try await partial.resume(at: size)
                transfer.onResponse(size, size)
                return try await publish(partial, size)
            case .startAgain:
                try await partial?.empty()
                continue
            }
            if case .complete(let size) = try machine.ended() {
                let partial = try await openPartial()
                return try await publish(partial, size)
            }
        }
    }

    private func ask() async throws -> TransportResponse {
        var fields = transfer.request.headerFields
        if case .rest(let offset, let validator) = machine.question {
            fields[.range] = "bytes=\(offset)-"
            fields[.ifRange] = validator.field
        }
        transfer.onPhase(.requested)
        let response = try await transfer.transport.open(
            TransportRequest(transfer.resolvedURL ?? transfer.request.url, headerFields: fields))
        transfer.onPhase(.responded)
        return response
    }

    private mutating func answer(of response: TransportResponse) throws -> TransferStateMachine.Answer {
        let now = HTTPDate(secondsSince1970: Int64(Date().timeIntervalSince1970))
        do {
            return try machine.responded(
                status: response.status, headerFields: response.headerFields, contentLength: response.contentLength,
                now: now)
        } catch {
            var failure = transfer.error(of: error)
            // A date is that of the server's clock, as its Date field is.
            let sent = response.headerFields[.date].flatMap { HTTPDate(parsing: $0, now: now) } ?? now
            failure.retryAfter = RetryPolicy.retryAfter(in: response.headerFields, now: sent)
            throw failure
        }
    }

    private mutating func openPartial() async throws -> PartialFile {
        if let partial { return partial }
        guard let opened = try await transfer.openPartial(.always) else {
            preconditionFailure("A file that is always created wasn't opened.")
        }
        partial = opened
        return opened
    }

    /// Reads a small body completely, then writes, syncs and names the file in one operation of the file pool.
    private mutating func storeSmall(_ body: ResponseBody, of announced: Int64) async throws -> TransferResult {
        var data = Data()
        var iterator = body.makeAsyncIterator()
        while let batch = try await iterator.nextBatch() {
            for chunk in batch {
                guard let received = try machine.received(chunk.count) else {
                    preconditionFailure("A whole body became unusable.")
                }
                if data.isEmpty, received == announced {
                    data = chunk
                } else {
                    data.append(chunk)
                }
                transfer.onReceived(received)
            }
        }
        _ = try machine.ended()
        transfer.onPhase(.complete)
        let options = FileWriteOptions(
            durability: transfer.durability, existing: transfer.existing == .replace ? .replace : .fail,
            temporaryName: transfer.request.temporaryName)
        do {
            try await data.asyncWrite(to: transfer.request.target, options: options, using: transfer.files)
        } catch let error as FileError where error.code == .exists && transfer.mayBePublished {
            // A small file has no checkpoint to identify it, so its bytes are compared.
            guard try await isTarget(data) else { throw error }
        }
        transfer.onPhase(.published)
        return TransferResult(bytes: announced, isCheckpointed: false)
    }

    private func isTarget(_ data: Data) async throws -> Bool {
        let (target, files) = (transfer.request.target, transfer.files)
        guard let status = try await files.status(of: target, followingLinks: false), status.kind == .file,
            status.size == data.count
        else { return false }
        do {
            return try await Data(asyncContentsOf: target, maximumSize: data.count, using: files) == data
        } catch let error as FileError where error.code == .limitExceeded {
            return false
        }
    }

    /// Receives a body into the partial file. Returns `false` if it turned out to be unusable and the whole file must be requested again.
    private mutating func receive(_ body: ResponseBody, into partial: PartialFile) async throws -> Bool {
        let before = partial.size
        var announced = false
        return try await withThrowingTaskGroup(of: Checkpoint.self) { syncs in
            var iterator = body.makeAsyncIterator()
            while let batch = try await iterator.nextBatch() {
                for chunk in batch {
                    guard let received = try machine.received(chunk.count) else {
                        try await partial.collect(from: &syncs)
                        try await partial.empty()
                        return false
                    }
                    transfer.onReceived(received)
                }
                // Received bytes are passed on to the disk before the next wait.
                try await partial.take(batch)
                if !announced, partial.size > before {
                    announced = true
                    transfer.onPhase(.receiving)
                }
                try await partial.checkpointIfDue(in: &syncs)
            }
            try await partial.flush()
            if !announced, partial.size > before { transfer.onPhase(.receiving) }
            try await partial.collect(from: &syncs)
            return true
        }
    }

    private func publish(_ partial: PartialFile, _ size: Int64) async throws -> TransferResult {
        transfer.onPhase(.complete)
        try await partial.publish(
            as: transfer.request.target, size: size, existing: transfer.existing == .replace ? .replace : .fail)
        transfer.onPhase(.published)
        return TransferResult(bytes: size, isCheckpointed: true)
    }
}
