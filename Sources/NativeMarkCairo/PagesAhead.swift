#if Cairo
import Foundation
import NativeMark

/// The pages of a document, which another thread lays out while the caller draws those before them.
///
/// On two processors, a PDF takes a third less time. The engine's lock keeps both threads apart where they use the same fonts. Few pages
/// wait, so memory stays bounded.
final class PagesAhead: @unchecked Sendable {
    /// How many pages may wait to be drawn.
    private static let mostWaiting = 4

    // `condition` protects the rest, except `pages`, which only the other thread uses.
    private let condition = NSCondition()
    private var pages: LayoutPages
    private var waiting: [LayoutPage] = []
    private var isCancelled = false
    private var hasEnded = false

    init(_ pages: LayoutPages) {
        self.pages = pages
    }

    /// Calls `body` with each page, in order, on the calling thread. If it throws, no more pages are laid out. Returns or throws when the
    /// other thread has ended.
    func forEach(_ body: (LayoutPage) throws -> Void) rethrows {
        let thread = Thread { [self] in layOut() }
        thread.name = "NativeMark layout"
        thread.start()
        defer { end() }
        while let page = next() { try body(page) }
    }

    private func next() -> LayoutPage? {
        condition.withLock {
            while waiting.isEmpty, !hasEnded { condition.wait() }
            defer { condition.broadcast() }
            return waiting.isEmpty ? nil : waiting.removeFirst()
        }
    }

    private func end() {
        condition.withLock {
            isCancelled = true
            condition.broadcast()
            while !hasEnded { condition.wait() }
        }
    }

    // MARK: The other thread

    private func layOut() {
        while let page = pages.next(), put(page) {}
        condition.withLock {
            hasEnded = true
            condition.broadcast()
        }
    }

    /// Returns whether more pages are wanted.
    private func put(_ page: LayoutPage) -> Bool {
        condition.withLock {
            while waiting.count >= Self.mostWaiting, !isCancelled { condition.wait() }
            waiting.append(page)
            condition.broadcast()
            return !isCancelled
        }
    }
}
#endif
