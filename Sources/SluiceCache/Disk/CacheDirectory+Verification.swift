import SluiceConcurrency
import SluiceDatabase
import SluiceFiles

#if canImport(FoundationEssentials)
package import FoundationEssentials
#else
package import Foundation
#endif

extension CacheDirectory {
    /// Damage that a verification has found.
    package struct Problem: Sendable {
        package enum Kind: String, Sendable {
            /// The file of an entry is missing, or has other bytes than were stored.
            case damagedFile = "damaged file"
            /// The row of an entry has impossible values.
            case damagedRow = "damaged row"
            /// A file of the cache belongs to no entry.
            case strayFile = "stray file"
            /// A file can't be read, so it is unknown whether it is damaged.
            case unreadableFile = "unreadable file"
            /// SQLite reports damage of the index.
            case damagedIndex = "damaged index"
            /// The index has another sum of sizes than its entries have, so the limit isn't kept or is kept too early.
            case wrongSum = "wrong sum"
        }

        package var kind: Kind
        /// The URL of the entry. It may contain secrets.
        package var url: String?
        package var file: URL
        /// The system's or SQLite's text.
        package var detail: String?
        package var isRepaired = false
    }

    package struct Verification: Sendable, Equatable {
        package var entries = 0
        package var bytes: Int64 = 0
        package var problems = 0
        package var repaired = 0
    }

    /// Reads every body and compares its length and digest with the index, and looks for files of the cache that aren't in the index.
    ///
    /// A read doesn't count as a use of an entry. Files with other names than those of the cache are ignored. `isRepairing` removes damaged
    /// entries and stray files; the other problems stay.
    package func verify(
        isRepairing: Bool, onProblem: (Problem) async -> Void
    ) async throws -> Verification {
        var result = Verification()
        func note(_ problem: Problem) async {
            result.problems += 1
            if problem.isRepaired { result.repaired += 1 }
            await onProblem(problem)
        }
        if let damage = try await store.database.read({ try DiskIndex.damage(in: $0) }) {
            let index = directory.appending(path: "index.db", directoryHint: .notDirectory)
            await note(Problem(kind: .damagedIndex, file: index, detail: damage))
        }
        if var problem = try await verifySum() {
            if isRepairing {
                try await store.database.write { try DiskIndex.correctSum(in: $0) }
                problem.isRepaired = true
            }
            await note(problem)
        }
        var last: Int64 = 0
        while true {
            let rows = try await store.database.read { [policy, last] in
                try DiskIndex.byNumber(after: last, most: 32, policy, in: $0)
            }
            guard let end = rows.last?.id else { break }
            last = end
            let found = try await rows.concurrentMap(concurrency: 4) { row in
                try await self.verify(row, isRepairing: isRepairing)
            }
            for (bytes, problem) in found {
                result.entries += 1
                result.bytes += Int64(bytes)
                if let problem { await note(problem) }
            }
            // Fewer than a batch of uses, so none was written.
            _ = store.uses.take()
        }
        try await store.forEachStrayFile { file in
            if isRepairing { try await store.removeStray(file) }
            await note(Problem(kind: .strayFile, file: file, isRepaired: isRepairing))
        }
        return result
    }

    private func verifySum() async throws -> Problem? {
        guard let sums = try await store.database.read({ try DiskIndex.wrongSum(in: $0) }) else { return nil }
        let index = directory.appending(path: "index.db", directoryHint: .notDirectory)
        return Problem(kind: .wrongSum, file: index, detail: "\(sums.recorded) bytes instead of \(sums.actual)")
    }

    private func verify(_ row: DiskIndex.Listed, isRepairing: Bool) async throws -> (Int, Problem?) {
        let file = store.file(row.id, row.key)
        var problem: Problem
        if let ready = row.ready {
            do {
                switch try await store.body(of: ready, row.key) {
                case .found(let body): return (body.count, nil)
                case .missing: return (0, nil)
                case .damaged: problem = Problem(kind: .damagedFile, url: row.key.text, file: file)
                }
            } catch let error as FileError where error.code != .cancelled {
                return (0, Problem(kind: .unreadableFile, url: row.key.text, file: file, detail: error.message))
            }
        } else {
            problem = Problem(kind: .damagedRow, url: row.key.text, file: file)
        }
        if isRepairing {
            try await store.drop(row.id, row.key)
            problem.isRepaired = true
        }
        return (0, problem)
    }
}
