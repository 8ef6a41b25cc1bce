#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// One measurement of one contender.
struct Sample: Sendable {
    var operations: Int
    var bytes = 0
    /// Wall-clock time.
    var seconds: Double
    /// Processor time of all threads of the process that did the work.
    var processorSeconds: Double
    /// The peak memory of a child process; nil if this process did the work, because its peak depends on all rows.
    var peakBytes: Double?
}

/// Times `body` and checks its result.
///
/// Runs on the caller's isolation. Rates in MB/s are computed from `bytes`.
func timed(
    _ operations: Int, bytes: Int = 0, expecting expected: Int, _ body: () async throws -> Int
) async throws -> Sample {
    let processor = processorSeconds()
    let began = ContinuousClock.now
    let found = try await body()
    let seconds = (ContinuousClock.now - began) / .seconds(1)
    let sample = Sample(
        operations: operations, bytes: bytes, seconds: seconds, processorSeconds: processorSeconds() - processor)
    try check(found, expected)
    return sample
}

/// Throws if the result differs from the expected one. The comparison also keeps the optimizer from removing the work.
func check(_ found: Int, _ expected: Int) throws {
    blackHole(found)
    if found != expected { throw RowFailure.wrongResult("\(found) instead of \(expected)") }
}

/// Uses a value in a way that the optimizer can't see.
@inline(never) @_optimize(none)
func blackHole<Value>(_ value: Value) {}

/// Processor time of this process so far, user and system. See getrusage(2).
private func processorSeconds() -> Double {
    var usage = rusage()
    #if canImport(Glibc)
    getrusage(RUSAGE_SELF.rawValue, &usage)
    #else
    getrusage(RUSAGE_SELF, &usage)
    #endif
    func seconds(_ time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) / 1e6 }
    return seconds(usage.ru_utime) + seconds(usage.ru_stime)
}
