import SluiceConcurrency

/// A model of a broadcast, as simple as possible: each subscriber has a separate list.
struct NaiveBroadcast {
    typealias Buffering = Broadcast<Int, Failure>.Buffering
    typealias Delivery = Broadcast<Int, Failure>.Delivery

    struct Failure: Error, Hashable {}

    enum Next: Equatable {
        case delivery(Delivery)
        case finished
        case failed
        case wait
    }

    struct Subscriber {
        let buffering: Buffering
        var waiting: [Delivery] = []
        var isTold = false

        private var values: Int { waiting.count { if case .value = $0 { true } else { false } } }

        init(_ buffering: Buffering, replayed: ArraySlice<Int>) {
            self.buffering = buffering
            for element in replayed { receive(element) }
        }

        mutating func receive(_ element: Int) {
            switch buffering {
            case .unbounded:
                waiting.append(.value(element))
            case .oldest(let bound):
                if values < bound { waiting.append(.value(element)) } else { miss(at: waiting.endIndex) }
            case .newest(let bound):
                waiting.append(.value(element))
                if values > bound { miss(at: waiting.firstIndex { if case .value = $0 { true } else { false } }!) }
            }
        }

        /// One is missing from here on; a value that is here is the one.
        private mutating func miss(at index: Int) {
            if index < waiting.endIndex { waiting.remove(at: index) }
            if index > 0, case .missed(let count) = waiting[index - 1] {
                waiting[index - 1] = .missed(count + 1)
            } else {
                waiting.insert(.missed(1), at: index)
            }
        }
    }

    let replay: Int
    var sent: [Int] = []
    var subscribers: [Int: Subscriber] = [:]
    var end: Result<Void, Failure>?

    init(replay: Int) {
        self.replay = replay
    }

    mutating func subscribe(_ name: Int, _ buffering: Buffering) {
        subscribers[name] = Subscriber(buffering, replayed: sent.suffix(replay))
    }

    mutating func send(_ element: Int) {
        guard end == nil else { return }
        sent.append(element)
        for name in subscribers.keys { subscribers[name]?.receive(element) }
    }

    mutating func next(_ name: Int) -> Next {
        if subscribers[name]?.waiting.isEmpty == false { return .delivery(subscribers[name]!.waiting.removeFirst()) }
        switch end {
        case nil: return .wait
        case .success: return .finished
        case .failure:
            defer { subscribers[name]?.isTold = true }
            return subscribers[name]!.isTold ? .finished : .failed
        }
    }
}
