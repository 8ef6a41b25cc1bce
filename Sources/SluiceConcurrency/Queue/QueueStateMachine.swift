public import DequeModule

/// What a consumer that waits for an element gets in the end.
@usableFromInline
enum QueueDelivery<Element> {
    case element(Element)
    case finished
    case cancelled

    @inlinable var element: Element? {
        if case .element(let element) = self { element } else { nil }
    }
}

/// The elements that nobody has taken, and the consumers that wait for some. Only one of both is ever there.
///
/// Events in, actions out; it resumes nobody.
@usableFromInline
struct QueueStateMachine<Element: Sendable, Consumer: Sendable>: Sendable {
    @usableFromInline typealias Line = WaitingLine<Consumer, QueueDelivery<Element>>

    @usableFromInline
    enum EnqueueAction: Sendable {
        /// It is in the queue, or kept for a consumer that is about to suspend.
        case stored
        case resume(Consumer)
        case refused
    }

    @usableFromInline
    enum NextAction: Sendable {
        case deliver(QueueDelivery<Element>)
        /// The caller is in line, and suspends with this ticket.
        case suspend(Line.Ticket)
    }

    @usableFromInline var elements = Deque<Element>()
    @usableFromInline var consumers = Line()
    @usableFromInline var isFinished = false

    @inlinable
    init() {}

    /// An element comes.
    @inlinable
    mutating func enqueue(_ element: Element) -> EnqueueAction {
        if isFinished { return .refused }
        if consumers.isEmpty {
            elements.append(element)
            return .stored
        }
        return consumers.settleFirst(.element(element)).map { .resume($0) } ?? .stored
    }

    /// A consumer wants an element, and waits for it if need be.
    @inlinable
    mutating func next() -> NextAction {
        if let element = elements.popFirst() { return .deliver(.element(element)) }
        return isFinished ? .deliver(.finished) : .suspend(consumers.join())
    }

    /// A consumer in line suspends; returns what it is resumed with if that is known by now.
    @inlinable
    mutating func suspend(_ ticket: Line.Ticket, _ consumer: Consumer) -> QueueDelivery<Element>? {
        consumers.suspend(ticket, consumer)
    }

    /// A consumer in line was cancelled; returns it to be resumed with `.cancelled`.
    @inlinable
    mutating func cancel(_ ticket: Line.Ticket) -> Consumer? {
        consumers.settle(ticket, .cancelled)
    }

    /// A consumer wants an element if there is one.
    @inlinable
    mutating func tryNext() -> Element? {
        elements.popFirst()
    }

    /// No more elements come; returns the consumers to be resumed with `.finished`.
    @inlinable
    mutating func finish() -> [Consumer] {
        isFinished = true
        return consumers.settleAll(.finished)
    }

    /// Everything goes that nobody has taken.
    @inlinable
    mutating func removeAll() -> Deque<Element> {
        defer { elements = Deque() }
        return elements
    }

    /// What satisfies the predicate goes; if that throws, nothing does.
    @inlinable
    mutating func removeAll<Failure: Error>(
        where shouldBeRemoved: (Element) throws(Failure) -> Bool
    ) throws(Failure) -> (removed: [Element], old: Deque<Element>) {
        var removed: [Element] = []
        var kept = Deque<Element>()
        for element in elements {
            if try shouldBeRemoved(element) { removed.append(element) } else { kept.append(element) }
        }
        let old = elements
        elements = kept
        return (removed, old)
    }
}

extension QueueDelivery: Sendable where Element: Sendable {}
extension QueueDelivery: Hashable, Equatable where Element: Hashable {}
