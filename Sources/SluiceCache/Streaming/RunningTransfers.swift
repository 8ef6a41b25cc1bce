import SluiceLock

/// The running transfers of a cache, by their requests. It doesn't keep them alive.
final class RunningTransfers: Sendable {
    private struct Entry {
        weak var transfer: SharedTransfer?
    }

    private let entries = Lock<[ResponseKey: Entry]>([:])

    func insert(_ transfer: SharedTransfer, for key: ResponseKey) {
        entries.withLock { $0[key] = Entry(transfer: transfer) }
    }

    /// Returns a new reader of the transfer for the key, if there is one whose beginning isn't lost.
    func makeReader(for key: ResponseKey) -> (SharedTransfer, SharedBodyReader)? {
        // The reference may be the last one, which must not be released under the lock.
        let transfer = entries.withLock { entries in entries.isEmpty ? nil : entries[key]?.transfer }
        guard let transfer, let reader = transfer.makeReader() else { return nil }
        return (transfer, reader)
    }

    /// Removes the transfer of an ended body, but not a newer one.
    func remove(_ body: SharedBody, for key: ResponseKey) {
        let transfer: SharedTransfer? = entries.withLock { entries in
            let current = entries[key]?.transfer
            if current.map({ $0.isOf(body) }) ?? true { entries[key] = nil }
            return current
        }
        _ = transfer
    }
}
