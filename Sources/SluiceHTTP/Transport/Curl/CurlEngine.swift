#if !canImport(Darwin) || os(macOS)
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Carries requests with libcurl, on one thread and its connections, or on two of them when more than one request is under way.
///
/// A thread copies every byte, out of the system and into the memory of its reader. One thread did that on one processor while another
/// was idle (decision 0023).
final class CurlEngine: TransportEngine {
    private let loops: [CurlLoop]

    init(
        _ configuration: HTTPTransport.Configuration,
        loopCount: Int = min(2, ProcessInfo.processInfo.activeProcessorCount)
    ) {
        loops = (0..<max(1, loopCount)).map { _ in CurlLoop(configuration) }
    }

    /// The loop with the fewest exchanges; the first if all have as many, so that requests one after another share connections.
    var carrier: any ExchangeCarrier {
        guard let first = loops.first else { preconditionFailure("An engine has a loop.") }
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
