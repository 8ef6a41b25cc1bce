import HTTPTypes
import SluiceDatabase
import SluiceHTTP

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

// Stored responses: in memory, and on disk. Errors of the disk count as disk failures, and the request continues without it.
extension CacheAttempt {
    /// Returns an answer from memory. This needs no index.
    func inMemory() -> Answer? {
        guard !request.isAlone, let all = cache.memory.value(for: key), all.areAll else { return nil }
        let kept = all.responses
        guard
            case .serve(let index, let served) = policy.decision(
                for: request.transport, mode: request.mode, stored: kept.map(\.head), at: cache.now()),
            let response = served.response(from: kept[index].body, .memory)
        else { return nil }
        cache.noteMemoryHit(kept[index])
        return Answer(response: response, stored: .init(head: kept[index].head, row: kept[index].row))
    }

    /// Returns all stored responses of the URL. Throws only `CancellationError`.
    func lookUp() async throws -> [Stored] {
        guard !request.isAlone else { return [] }
        let kept = cache.memory.value(for: key)?.responses ?? []
        do {
            try await cache.removeOutOfDateRows(key)
            let found = try await cache.disk.find(key, policy)
            for row in found.garbage { try await cache.drop(row, key) }
            var stored = found.ready.map { row in
                Stored(head: row.head, row: row, body: kept.first { $0.row == row.id }?.body)
            }
            for response in kept where response.row == nil {
                guard !stored.contains(where: { $0.head.variant == response.head.variant }) else { continue }
                stored.append(Stored(head: response.head, body: response.body))
            }
            return stored
        } catch let error as CancellationError {
            throw error
        } catch {
            cache.noteDiskFailure(error)
            return kept.map { Stored(head: $0.head, body: $0.body) }
        }
    }

    /// Returns the body of a stored response, or `nil` if it is lost. Removes a damaged one.
    func body(of stored: inout Stored) async throws -> Data? {
        if let body = stored.body { return body }
        if stored.head.length == 0 {
            stored.body = Data()
            return Data()
        }
        guard let row = stored.row else { return nil }
        stored.body = try await read(row, cache.disk.body)
        return stored.body
    }

    /// Returns the body of a row, or `nil` if it is lost. Removes a damaged one. Throws only `CancellationError`.
    private func read<Body>(
        _ row: DiskIndex.Ready, _ read: (DiskIndex.Ready, ResourceKey) async throws -> DiskStore.Read<Body>
    ) async throws -> Body? {
        do {
            switch try await read(row, key) {
            case .found(let body): return body
            case .damaged: try await cache.drop(row.id, key)
            case .missing: break
            }
        } catch let error as CancellationError {
            throw error
        } catch {
            cache.noteDiskFailure(error)
        }
        return nil
    }

    /// Returns the answer from a stored response, or `nil` if its body is lost.
    func answer(
        _ served: CachePolicy.Served, from stored: inout Stored, _ source: CachedResponse.Source? = nil
    ) async throws -> Answer? {
        if request.isStreamed, stored.body == nil, served.bytes.count > SharedBodyState.piece {
            return try await opened(served, stored, source ?? .disk)
        }
        let source = source ?? (stored.body == nil ? .disk : .memory)
        // A 304 and the response to HEAD need no body.
        let needsNone = served.bytes.isEmpty && stored.head.length > 0
        let body = needsNone ? Data() : try await body(of: &stored)
        return served.response(from: body, source).map {
            Answer(response: $0, stored: .init(head: stored.head, row: stored.row?.id))
        }
    }

    /// Returns the answer from a large file, or `nil` if it is lost.
    private func opened(
        _ served: CachePolicy.Served, _ stored: Stored, _ source: CachedResponse.Source
    ) async throws -> Answer? {
        guard let row = stored.row, let file = try await read(row, cache.disk.openBody) else { return nil }
        return Answer(
            response: CachedResponse(served.status, served.fields, Data(), source),
            stream: .file(file, served.bytes), stored: .init(head: stored.head, row: row.id))
    }

    func noteUse(of stored: Stored, from source: CachedResponse.Source, total: Int) {
        cache.count { if source == .memory { $0.memoryHits += 1 } else { $0.diskHits += 1 } }
        guard let body = stored.body else { return }
        keepInMemory(StoredResponse(head: stored.head, body: body, row: stored.row?.id), of: total)
    }

    func keepInMemory(_ response: StoredResponse, of total: Int) {
        if request.keepsInMemory { cache.keepInMemory(response, visit, of: total) }
    }
}

extension ResourceCache {
    /// Removes a damaged response, and counts it.
    func drop(_ row: Int64, _ key: ResourceKey) async throws {
        count { $0.damaged += 1 }
        try await disk.drop(row, key)
    }

    func noteDiskFailure(_ error: any Error) {
        let text = "\(error)"
        count {
            $0.diskFailures += 1
            $0.lastDiskFailure = text
        }
    }
}

extension CachePolicy.Served {
    /// Returns the response with its bytes of a stored body, or `nil` without the body.
    func response(from body: Data?, _ source: CachedResponse.Source) -> CachedResponse? {
        guard let body else { return nil }
        guard !bytes.isEmpty else { return CachedResponse(status, fields, Data(), source) }
        guard bytes.upperBound <= body.count else { return nil }
        let part = body.dropFirst(Int(bytes.lowerBound)).prefix(bytes.count)
        return CachedResponse(status, fields, part.count == body.count ? body : Data(part), source)
    }
}

extension HTTPFields {
    /// The content coding, or `nil` for none.
    var contentCoding: String? {
        self[.contentEncoding].flatMap { $0.trimmingSpaces().lowercased() == "identity" ? nil : $0 }
    }
}
