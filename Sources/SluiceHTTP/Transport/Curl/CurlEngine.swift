#if !canImport(Darwin) || os(macOS)
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Carries requests with libcurl, on one thread, or on two when exchanges run concurrently.
///
/// A thread copies every byte from the system into the reader's memory. A single thread would keep one processor busy while another is
/// idle (decision 0023). Each thread has its own connections.
final class CurlEngine: TransportEngine {
    private let loops: [CurlLoop]

    init(
        _ configuration: HTTPTransport.Configuration,
        loopCount: Int = min(2, ProcessInfo.processInfo.activeProcessorCount)
    ) {
        loops = (0..<max(1, loopCount)).map { _ in CurlLoop(configuration) }
    }

    /// The loop with the fewest exchanges. Ties go to the first loop, so that consecutive requests share connections.
    var carrier: any ExchangeCarrier {
        guard let first = loops.first else { preconditionFailure("An engine must have at least one loop.") }
        return loops.dropFirst().reduce(first) { least, loop in loop.openCount < least.openCount ? loop : least }
    }

    func retire() {
        for loop in loops { loop.retire() }
    }

    func shutdown() async {
        for loop in loops { await loop.shutdown() }
    }
}
#endif
