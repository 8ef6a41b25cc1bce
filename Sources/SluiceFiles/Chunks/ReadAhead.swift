internal import DequeModule

#if canImport(FoundationEssentials)
package import FoundationEssentials
#else
package import Foundation
#endif

/// What one iteration over chunks has, waits for and reads next. A pure value.
///
/// ```text
/// consumer                              reader, at most one at a time
/// ask: nothing there, waits             begins
///                                       arrived: given to the consumer; there is room: goes on
/// works on chunk 1                      arrived: kept; no room: pauses
/// ask: given chunk 2                    begins
/// ```
///
/// The reader runs while somebody waits or there is room, and until the end. Chunks come in order, an error after those that
/// were read before it, once; after that there is nothing.
package struct ReadAhead<Waiter> {
    package typealias Answer = Result<Data?, any Error>

    /// How many chunks may lie ready, those being read included, while nobody waits.
    package var depth: Int
    private var chunks = Deque<Data>()
    private var waiter: Waiter?
    private var end: Result<Void, any Error>?
    /// Whether a reader was told to begin and not to pause.
    private(set) package var isReading = false

    package init(depth: Int) { self.depth = depth }

    /// What lies ready.
    package var count: Int { chunks.count }

    /// Nothing lies ready, nobody reads, and there may be more.
    package var isIdle: Bool { chunks.isEmpty && !isReading && end == nil }

    private var wantsMore: Bool {
        end == nil && (waiter != nil || chunks.count < depth)
    }

    // MARK: The consumer

    /// Gives the next chunk, the end or the error if it is there. `reads` says that a reader has to begin.
    package mutating func take() -> (answer: Answer?, reads: Bool) {
        precondition(waiter == nil, "Two tasks ask one iteration for its next chunk concurrently.")
        if let chunk = chunks.popFirst() { return (.success(chunk), beginsReading()) }
        switch end {
        case .failure(let error):
            end = .success(())
            return (.failure(error), false)
        case .success: return (.success(nil), false)
        case nil: return (nil, false)
        }
    }

    /// As ``take()``, and keeps the waiter if there is nothing.
    package mutating func ask(_ waiter: Waiter) -> (answer: Answer?, reads: Bool) {
        let taken = take()
        if taken.answer != nil { return taken }
        self.waiter = waiter
        return (nil, beginsReading())
    }

    /// Nobody will ask any more. Gives back what lies ready, to be destroyed without a lock.
    package mutating func abandon() -> [Data] {
        if end == nil { end = .success(()) }
        defer { chunks = [] }
        return Array(chunks)
    }

    private mutating func beginsReading() -> Bool {
        guard !isReading, wantsMore else { return false }
        isReading = true
        return true
    }

    // MARK: The reader

    /// A chunk was read, or the end was reached, or both. `goesOn` says that the reader has to read the next one immediately; if
    /// not, it has paused.
    package mutating func arrived(
        _ chunk: Data?, end: Result<Void, any Error>?
    ) -> (waiter: Waiter?, answer: Answer, goesOn: Bool) {
        // An iteration that was abandoned has its end already.
        if self.end == nil {
            if let chunk { chunks.append(chunk) }
            self.end = end
        }
        guard let waiter = self.waiter.take() else {
            isReading = wantsMore
            return (nil, .success(nil), isReading)
        }
        let answer = take().answer ?? .success(nil)
        isReading = wantsMore
        return (waiter, answer, isReading)
    }
}
