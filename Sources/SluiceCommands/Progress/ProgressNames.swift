import SluiceLock

/// The names of the files that a progress shows.
enum ProgressNames: Sendable, ExpressibleByArrayLiteral {
    /// By the index in a list of requests.
    case list([String])
    /// By the number of the download.
    case queue(QueueNames)

    init(arrayLiteral names: String...) { self = .list(names) }

    var areOfQueue: Bool {
        if case .queue = self { true } else { false }
    }

    /// The length of the list; 0 for a queue, which has no end.
    var count: Int {
        if case .list(let names) = self { names.count } else { 0 }
    }

    var isEmpty: Bool { count == 0 }

    subscript(index: Int) -> String {
        switch self {
        case .list(let names): names[index]
        case .queue(let names): names[index]
        }
    }
}

/// The names of the downloads that a worker of a queue works on.
final class QueueNames: Sendable {
    private let names = Lock<[Int: String]>([:])

    subscript(number: Int) -> String {
        get { names.withLock { $0[number] } ?? "\(number)" }
        set { names.withLock { $0[number] = newValue } }
    }

    func contains(_ number: Int) -> Bool { names.withLock { $0[number] != nil } }

    func forget(_ number: Int) {
        _ = names.withLock { $0.removeValue(forKey: number) }
    }
}
