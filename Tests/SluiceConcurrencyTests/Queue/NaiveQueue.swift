@testable import SluiceConcurrency

/// What a queue has to do, written down without a thought for speed: numbers in arrays.
struct NaiveQueue {
    struct Offer {
        let producer: Int
        let number: Int
    }

    let capacity: Int
    let policy: OverflowPolicy
    /// Which numbers count as equal, if any do.
    let key: ((Int) -> Int)?
    /// What leaves earlier; the same for all in a plain queue.
    let rank: (Int) -> Int

    private(set) var pending: [Int] = []
    private(set) var offers: [Offer] = []
    private(set) var consumers: [Int] = []
    private(set) var isFinished = false
    /// How the waits ended that have ended.
    private(set) var sent: [Int: SendOutcome] = [:]
    private(set) var delivered: [Int: QueueDelivery<Int>] = [:]

    init(capacity: Int, policy: OverflowPolicy, key: ((Int) -> Int)?, rank: @escaping (Int) -> Int) {
        (self.capacity, self.policy, self.key, self.rank) = (capacity, policy, key, rank)
    }

    private func isPending(_ number: Int) -> Bool {
        guard let key else { return false }
        return pending.contains { key($0) == key(number) }
    }

    private mutating func insert(_ number: Int) {
        pending.insert(number, at: pending.firstIndex { rank($0) < rank(number) } ?? pending.endIndex)
    }

    private mutating func admit() {
        while pending.count < capacity, !offers.isEmpty {
            let offer = offers.removeFirst()
            sent[offer.producer] = isPending(offer.number) ? .alreadyPending : .enqueued
            if sent[offer.producer] == .enqueued { insert(offer.number) }
        }
    }

    /// Returns nil if the producer waits.
    mutating func offer(_ number: Int, producer: Int?) -> SendResult<Int>? {
        if isFinished { return .finished(number) }
        if !consumers.isEmpty {
            delivered[consumers.removeFirst()] = .element(number)
            return .enqueued
        }
        if isPending(number) { return .alreadyPending }
        if pending.count < capacity {
            insert(number)
            return .enqueued
        }
        switch policy {
        case .dropNewest: return .dropped(number)
        case .suspend:
            guard let producer else { return .full(number) }
            offers.append(Offer(producer: producer, number: number))
            return nil
        case .dropOldest:
            guard !pending.isEmpty else { return .dropped(number) }
            let oldest = pending.removeFirst()
            insert(number)
            return .enqueuedDropping(oldest)
        }
    }

    mutating func withdraw(producer: Int, _ outcome: SendOutcome) {
        guard let index = offers.firstIndex(where: { $0.producer == producer }) else { return }
        offers.remove(at: index)
        sent[producer] = outcome
    }

    mutating func tryNext() -> Int? {
        if !pending.isEmpty {
            defer { admit() }
            return pending.removeFirst()
        }
        guard !offers.isEmpty else { return nil }
        let offer = offers.removeFirst()
        sent[offer.producer] = .enqueued
        return offer.number
    }

    /// Returns nil if the consumer waits.
    mutating func next(_ consumer: Int) -> QueueDelivery<Int>? {
        if let number = tryNext() { return .element(number) }
        if isFinished { return .finished }
        consumers.append(consumer)
        return nil
    }

    mutating func withdraw(consumer: Int) {
        guard let index = consumers.firstIndex(of: consumer) else { return }
        consumers.remove(at: index)
        delivered[consumer] = .cancelled
    }

    mutating func finish() {
        isFinished = true
        for offer in offers { sent[offer.producer] = .finished }
        for consumer in consumers { delivered[consumer] = .finished }
        (offers, consumers) = ([], [])
    }

    mutating func removeAll(where shouldBeRemoved: (Int) -> Bool) -> [Int] {
        let removed = pending.filter(shouldBeRemoved)
        pending.removeAll(where: shouldBeRemoved)
        admit()
        return removed
    }
}
