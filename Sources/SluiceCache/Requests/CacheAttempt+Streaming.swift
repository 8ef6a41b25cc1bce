import HTTPTypes
import SluiceConcurrency
import SluiceFiles
import SluiceHTTP

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

// A response whose callers read the body while it arrives:
//
//      this caller           the transfer, a separate task               other callers
//      waits for the head ◀─ opens the exchange, behind the limiter
//      reads the body     ◀─ receives chunks, writes them to disk     ─▶ read the body
//                            at the end: outcome ─▶ store
extension CacheAttempt {
    private enum Opened: Sendable {
        case whole(Received)
        case arriving(CachedResponse, SharedBody, isStored: Bool)
    }

    enum Sent: Sendable {
        case whole(Received)
        case arriving(Answer)
    }

    /// Sends a request in a separate task, which ends when the body has arrived or its last reader has left.
    func stream(
        _ sent: HTTPFields, _ stored: [Candidate], _ removals: Int, _ forwarding: CacheStatus.Forwarding
    ) async throws -> Sent {
        let (promise, resolver) = Promise<Opened, any Error>.makePromise()
        let task = cache.transfers.start(UUID(), priority: Task.currentPriority) {
            do {
                try await cache.limiter.run(for: request.host) { try await transfer(sent, stored, removals, resolver) }
            } catch {
                resolver.fail(error)
            }
        }
        guard let task else { throw ResourceCache.shutDown(request.url) }
        let opened: Opened
        do {
            opened = try await task.value(of: promise)
        } catch is CancellationError where !Task.isCancelled && cache.hasShutDown {
            throw ResourceCache.shutDown(request.url)
        }
        switch opened {
        case .whole(let received): return .whole(received)
        case .arriving(let response, let body, let isStored):
            let status = CacheStatus(forwarding: forwarding, isStored: isStored)
            let transfer = SharedTransfer(response, status, body, task)
            if !request.isAlone {
                cache.running.insert(transfer, for: request.key.of(visit))
                if body.hasEnded { cache.running.remove(body, for: request.key.of(visit)) }
            }
            return .arriving(Answer(transfer))
        }
    }

    private func transfer(
        _ sent: HTTPFields, _ stored: [Candidate], _ removals: Int, _ resolver: Promise<Opened, any Error>.Resolver
    ) async throws {
        let requested = cache.now()
        let response = try await openExchange(sent)
        var record = self.record(of: response, sent, requested: requested)
        record.bodyLength = announcedLength(of: response) ?? 0
        // The answer doesn't depend on the body, and no stored part belongs to it.
        let outcome = outcome(of: record, wasRedirected: response.redirectCount > 0, stored)
        let pieces = outcome.addition?.body
        guard outcome.delivery == .response, pieces == nil || pieces == [.response],
            isLast || !RetryPolicy.isTransient(response.status)
        else {
            resolver.succeed(.whole(try await receive(response, sent, requested: requested)))
            return
        }
        let writer = await beginWriting(outcome.addition?.head, announced: response.contentLength)
        let body = SharedBody(spoolingTo: writer?.file, of: request.url)
        let head = CachedResponse(response.status.code, response.headerFields, Data(), .network)
        resolver.succeed(.arriving(head, body, isStored: writer != nil))
        await receiveAndStore(response, record, into: body, writer, stored, removals)
        if !request.isAlone { cache.running.remove(body, for: request.key.of(visit)) }
    }

    private func beginWriting(_ head: StoredResponse.Head?, announced: Int64?) async -> DiskWriter? {
        guard let head, !request.isAlone else { return nil }
        do {
            return try await cache.disk.beginWriting(head, announced: announced, for: key)
        } catch {
            if !(error is CancellationError) { cache.noteDiskFailure(error) }
            return nil
        }
    }

    /// Receives the body, and stores it at the end.
    private func receiveAndStore(
        _ response: TransportResponse, _ record: CachePolicy.ExchangeRecord, into body: SharedBody,
        _ writer: DiskWriter?, _ stored: [Candidate], _ removals: Int
    ) async {
        var (record, stored) = (record, stored)
        let announced = announcedLength(of: response)
        record.bodyLength = 0
        var failure: (any Error)?
        var isSpooling = writer != nil
        var batches = response.body.makeAsyncIterator()
        do {
            while let batch = try await batches.nextBatch() {
                record.bodyLength += batch.reduce(0) { $0 + Int64($1.count) }
                body.append(batch)
                report(received: record.bodyLength, of: announced)
                if isSpooling, let writer {
                    isSpooling = try await append(batch, to: writer)
                    if isSpooling { body.spool() } else { body.stopSpooling() }
                }
                try await body.waitForRoom()
            }
            if let announced, announced != record.bodyLength {
                failure = TransferError.length(
                    announced: announced, received: record.bodyLength, url: request.url)
            }
        } catch {
            // A reader that has the last byte needn't wait for the end.
            let isComplete = error is CancellationError && announced == record.bodyLength
            failure = isComplete ? nil : error
        }
        record.isComplete = failure == nil
        if failure == nil { cache.count { $0.fetched += 1 } }
        if failure is CancellationError {
            await writer?.abandon()
            failure = cache.hasShutDown ? ResourceCache.shutDown(request.url) : failure
        } else {
            let outcome = outcome(of: record, wasRedirected: response.redirectCount > 0, stored)
            let isWritten = isSpooling && outcome.addition?.body == [.response]
            if !isWritten { await writer?.abandon() }
            // If what arrived isn't stored, an older part stays.
            if failure == nil || isWritten || outcome.addition == nil {
                _ = await settle(outcome, isWritten ? writer.map { .written($0) } : nil, &stored, removals, visit)
            }
        }
        if let writer { cache.count { $0.evicted += writer.evicted } }
        body.finish(throwing: failure.map { known($0) })
    }

    /// Returns false if the rest of the body isn't stored. Throws only `CancellationError`.
    private func append(_ batch: [Data], to writer: DiskWriter) async throws -> Bool {
        do {
            return try await writer.append(batch)
        } catch let error as CancellationError {
            throw error
        } catch {
            cache.noteDiskFailure(error)
            return false
        }
    }
}

extension Answer {
    fileprivate init(_ transfer: SharedTransfer) {
        guard let reader = transfer.makeReader() else {
            preconditionFailure("The first reader of a body must find its beginning.")
        }
        self.init(transfer, reader)
    }
}
