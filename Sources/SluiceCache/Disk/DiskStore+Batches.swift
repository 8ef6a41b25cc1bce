import GRDB
import SluiceDatabase
import SluiceFiles
import SluiceHTTP

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

// Storing many small responses together. The steps are those of a single one (see DiskStore+Writing.swift), but each is one transaction or
// one job for all of them:
//
//      1 transaction   makes room for all, inserts those for the index, and a row `writing` for each file
//      2 job           writes all files
//      3 transaction   makes the rows `ready`
//
// A kill leaves what it would leave with single responses.
extension DiskStore {
    /// A response to store in place of the older one with the same variant.
    struct Addition: Sendable {
        let response: StoredResponse
        let key: ResourceKey
        /// Called in the transaction that makes the response readable. If it returns false, the response isn't stored. `isFirst` says that
        /// the index has no other response of the resource.
        let isCurrent: @Sendable (_ database: Database, _ isFirst: Bool) throws -> Bool
    }

    /// The result of storing a response: its row, or `nil` if it isn't stored, and the number of entries that were evicted for it.
    typealias Stored = (row: Int64?, evicted: Int)

    /// The largest body that is stored in a batch.
    static let largestInBatch = 64 << 10

    /// Stores responses and returns the result of each. If they can't be stored together, for example because there isn't enough room for
    /// all, they are stored one by one.
    func store(_ batch: [Addition]) async -> [Result<Stored, any Error>] {
        defer { reloadKnownKeysIfNeeded() }
        if batch.count > 1, batch.allSatisfy({ $0.response.body.count <= Self.largestInBatch }),
            let stored = try? await storeTogether(batch)
        {
            return stored
        }
        var results: [Result<Stored, any Error>] = []
        for addition in batch {
            do {
                results.append(
                    .success(
                        try await store(addition.response, for: addition.key) { try addition.isCurrent($0, false) }))
            } catch {
                results.append(.failure(error))
            }
        }
        return results
    }

    private enum Inserted: Sendable {
        case refused
        case ready(Int64, old: [DiskIndex.Entry])
        case writing(Int64)
    }

    /// Returns `nil`, or throws, if nothing was stored.
    private func storeTogether(_ batch: [Addition]) async throws -> [Result<Stored, any Error>]? {
        let sizes = batch.map { DiskIndex.size(of: $0.response, key: $0.key) ?? .max }
        let total = sizes.reduce(0) { $0.addingReportingOverflow($1).overflow ? .max : $0 + $1 }
        guard total <= limit, batch.allSatisfy({ $0.response.body.count <= entryLimit }) else { return nil }
        return try await change(storing: Int(clamping: total)) { [self] in
            let digests = batch.map { Data(SHA256Digest.of($0.response.body)) }
            let times = batch.map { _ in uses.next() }
            let keys = batch.map(\.key)
            let (inserted, evicted) = try await makeRoom(for: total, keys) {
                [slot, largestInIndex, knownKeys] database in
                try batch.indices.map { index in
                    let (response, key) = (batch[index].response, batch[index].key)
                    let isFirst = !knownKeys.mayContain(key)
                    guard try batch[index].isCurrent(database, isFirst) else { return Inserted.refused }
                    guard response.body.count <= largestInIndex else {
                        return .writing(
                            try DiskIndex.insertWriting(
                                response.head, bytes: response.body.count, digest: digests[index], key: key,
                                writer: slot.number, now: times[index], in: database))
                    }
                    let (id, old) = try DiskIndex.insertReady(
                        response, digest: digests[index], key: key, replacing: isFirst ? nil : .rows([]),
                        writer: slot.number, now: times[index], in: database)
                    return .ready(id, old: old)
                }
            }
            guard let inserted else { return nil }
            var results = inserted.map { inserted -> Result<Stored, any Error> in
                if case .ready(let id, _) = inserted { return .success((id, 0)) }
                return .success((nil, 0))
            }
            var old = inserted.flatMap { inserted in
                if case .ready(_, let old) = inserted { return old }
                return []
            }
            let writing = inserted.indices.compactMap { index -> Writing? in
                guard case .writing(let row) = inserted[index] else { return nil }
                return Writing(index: index, row: row, addition: batch[index])
            }
            if !writing.isEmpty {
                let (files, replaced) = await storeFiles(writing)
                for (writing, result) in zip(writing, files) { results[writing.index] = result }
                old += replaced
            }
            // An old version that can't be removed stays `leaving` until the next start.
            try? await finishLeaving(old)
            if evicted > 0, case .success(let first) = results[0] { results[0] = .success((first.row, evicted)) }
            return results
        }
    }

    // MARK: Files

    private struct Writing: Sendable {
        let index: Int
        let row: Int64
        let addition: Addition

        var key: ResourceKey { addition.key }
    }

    /// Writes the files of rows, and makes the rows ready. Returns the result of each, and the rows that they replace.
    private func storeFiles(_ writing: [Writing]) async -> ([Result<Stored, any Error>], [DiskIndex.Entry]) {
        var failures: [Int: any Error] = [:]
        do {
            let errors = try await files.create(
                writing.map { (file($0.row, $0.key), $0.addition.response.body) }, permissions: 0o600)
            for (number, error) in errors.enumerated() where error != nil {
                let writing = writing[number]
                do {
                    // The directory may be missing, or the file may exist.
                    try await creatingFile(of: writing.row, writing.key) {
                        try await files.create($0, contents: writing.addition.response.body, permissions: 0o600)
                    }
                } catch {
                    failures[number] = error
                }
            }
            let written = writing.indices.filter { failures[$0] == nil }
            let ready = try await write(changing: writing.map(\.key)) { [slot] database in
                try written.map { number in
                    let writing = writing[number]
                    return try writing.addition.isCurrent(database, false)
                        ? DiskIndex.makeReady(
                            writing.row, key: writing.key, replacing: .rows([]), writer: slot.number, in: database)
                        : (false, [])
                }
            }
            var results: [Result<Stored, any Error>] = writing.map { .success(($0.row, 0)) }
            var old: [DiskIndex.Entry] = []
            for (number, (isReady, replaced)) in zip(written, ready) {
                old += replaced
                if !isReady { results[number] = .success((nil, 0)) }
            }
            for (number, error) in failures { results[number] = .failure(error) }
            let abandoned = writing.indices.filter { (try? results[$0].get().row) == nil }
            try? await abandon(abandoned.map { writing[$0] })
            return (results, old)
        } catch {
            try? await abandon(writing)
            return (writing.map { _ in .failure(error) }, [])
        }
    }

    /// Removes the files and rows. What can't be removed stays `writing`, and the next start tries again.
    private func abandon(_ writing: [Writing]) async throws {
        guard !writing.isEmpty else { return }
        let (gone, _) = await removeFiles(of: writing.map { DiskIndex.Entry(id: $0.row, key: $0.key) })
        try await database.write { try DiskIndex.delete(gone, in: $0) }
    }
}
