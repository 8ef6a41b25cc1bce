import HTTPTypes

/// The rows whose bodies this process has verified: the digest of a body is compared when the process reads it for the first time.
///
/// A body never changes and the number of its row is never used again, so a verified row stays verified. Each table is bounded. A row that is
/// no longer in it is verified again.
final class VerifiedRows: Sendable {
    /// The path of the file of each verified row. It is empty for a body in the index.
    private let paths = MemoryCache<Int64, String>(maximumCost: .max, maximumCount: 16_384)
    /// The row of each key that has only one, which is for all requests. It contains a small body. Another process may have replaced it.
    private let rows = MemoryCache<ResourceKey, DiskIndex.Ready>(maximumCost: 4 << 20, maximumCount: .max)

    func path(of row: Int64) -> String? { paths.value(for: row) }

    func insert(_ row: Int64, path: String) { paths.insert(path, for: row, cost: 1) }

    func remove(_ row: Int64) { paths.remove(row) }

    // MARK: Keys

    /// Returns the only row of a key and the path of its file, if the row is verified.
    func row(for key: ResourceKey) -> (row: DiskIndex.Ready, path: String)? {
        guard let row = rows.value(for: key), let path = paths.value(for: row.id) else { return nil }
        return (row, path)
    }

    /// Records the rows of a key. Call this within the transaction that has read them: the transactions of a process run one after another,
    /// so no row is recorded after another transaction has removed it.
    func note(_ found: DiskIndex.Found, of key: ResourceKey) {
        guard found.ready.count == 1, found.garbage.isEmpty, found.ready[0].head.variant.isAny else {
            forget(key)
            return
        }
        let fields = found.ready[0].head.fields.reduce(0) { $0 + $1.name.rawName.utf8.count + $1.value.utf8.count + 64 }
        rows.insert(
            found.ready[0], for: key, cost: 512 + key.text.utf8.count + fields + (found.ready[0].body?.count ?? 0))
    }

    /// Forgets the rows of a key. Call this within the transaction that changes them.
    func forget(_ key: ResourceKey) { rows.remove(key) }
}
