internal import DequeModule

#if canImport(FoundationEssentials)
package import FoundationEssentials
#else
package import Foundation
#endif

/// The state of one iteration over chunks. A pure value.
///
/// ```text
/// consumer                              reader (at most one at a time)
/// ask: no chunk, waits                  starts
///                                       arrived: resumes the consumer; there is room: continues
/// works on chunk 1                      arrived: keeps chunk 2; no room: pauses
/// ask: returns chunk 2                  starts
/// ```
///
/// Chunks are returned in order. An error is returned once, after the chunks that were read before it; then the iteration is at its
/// end.
package struct ReadAhead<Waiter> {
    package typealias Answer = Result<Data?, any Error>

    /// The largest number of chunks to keep while the consumer isn't waiting, including the one being read.
    package var depth: Int
    private var chunks = Deque<Data>()
    private var waiter: Waiter?
    private var end: Result<Void, any Error>?
    /// Whether a reader was told to start and hasn't been told to pause.
    private(set) package var isReading = false

    package init(depth: Int) { self.depth = depth }

    package var count: Int { chunks.count }

    package var isIdle: Bool { chunks.isEmpty && !isReading && end == nil }

    private var wantsMore: Bool {
        end == nil && (waiter != nil || chunks.count < depth)
    }

    // MARK: The consumer

    /// Returns the next chunk, the end or the error if it is known. `reads` is true if a reader must start.
    package mutating func take() -> (answer: Answer?, reads: Bool) {
        precondition(waiter == nil, "Only one task at a time may iterate over the chunks.")
        if let chunk = chunks.popFirst() { return (.success(chunk), beginsReading()) }
        switch end {
        case .failure(let error):
            end = .success(())
            return (.failure(error), false)
        case .success: return (.success(nil), false)
        case nil: return (nil, false)
        }
    }

    /// Like ``take()``, but keeps the waiter if there is no answer yet.
    package mutating func ask(_ waiter: Waiter) -> (answer: Answer?, reads: Bool) {
        let taken = take()
        if taken.answer != nil { return taken }
        self.waiter = waiter
        return (nil, beginsReading())
    }

    /// Ends the iteration from the consumer's side. Returns the chunks that are ready; the caller destroys them outside its lock.
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

    /// Takes a chunk, the end, or both. If `goesOn` is true, the reader must read the next chunk immediately; otherwise it has paused.
    package mutating func arrived(
        _ chunk: Data?, end: Result<Void, any Error>?
    ) -> (waiter: Waiter?, answer: Answer, goesOn: Bool) {
        // An abandoned iteration has its end already.
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
