import GRDB
import SluiceLock

/// Transactions of concurrent tasks that are committed together, because a commit costs more than a few small changes.
///
/// ```text
/// task 1   ─ write ─▶ commit 1
/// task 2      ─ write ──────────▶ commit 2        while commit 1 runs, the next ones wait and form a group
/// task 3        ─ write ────────▶ commit 2
/// ```
///
/// A group grows until its transaction begins. So a transaction without concurrent ones isn't delayed. If a group fails, each member runs
/// again in a transaction of its own.
final class TransactionGroup: Sendable {
    struct Member: Sendable {
        let mayWrite: Bool
        /// Returns a closure that delivers the result.
        let run: @Sendable (Database) throws -> @Sendable () -> Void
        let fail: @Sendable (any Error) -> Void
    }

    private let waiting = Lock<[Member]>([])

    /// Adds a member. Returns whether the caller must schedule ``commit(in:_:)``.
    func add(_ member: Member) -> Bool {
        waiting.withLock { waiting in
            waiting.append(member)
            return waiting.count == 1
        }
    }

    /// Runs the waiting members. Runs on the connection's queue.
    func commit(in database: Database, _ path: String) {
        let members = waiting.withLock { waiting in
            defer { waiting = [] }
            return waiting
        }
        do {
            for deliver in try commit(members, in: database, path) { deliver() }
        } catch {
            guard members.count > 1 else { return members.forEach { $0.fail(error) } }
            for member in members {
                do {
                    for deliver in try commit([member], in: database, path) { deliver() }
                } catch {
                    member.fail(error)
                }
            }
        }
    }

    private func commit(
        _ members: [Member], in database: Database, _ path: String
    ) throws -> [@Sendable () -> Void] {
        try DatabaseFailure.mapping(path) {
            var deliveries: [@Sendable () -> Void] = []
            try database.inTransaction(members.contains(where: \.mayWrite) ? .immediate : .deferred) {
                deliveries = try members.map { try $0.run(database) }
                return .commit
            }
            return deliveries
        }
    }
}
