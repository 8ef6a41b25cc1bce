import Foundation
import SluiceFiles
import Testing

/// The error that a sandbox answers newer calls with, where Scripts/checks/file-systems.sh has put these tests into one.
let deniedCalls = ProcessInfo.processInfo.environment["SLUICE_DENIED"]

/// Every system call of every operation fails once with every error number that its man page has.
///
/// Not where calls are denied: then others are made, and their failures mean something else. The operations named after a missing call
/// are for that.
@Suite(
    .timeLimit(.minutes(5)),
    .enabled(if: deniedCalls == nil, "skipped: not all calls can be made here"))
struct `Faults of every call` {
    @Test(arguments: FaultedOperation.all)
    func `give their own error, leave nothing open and nothing half done`(operation: FaultedOperation) async throws {
        let report = try await operation.runWithEachFault()
        print("faults: \(operation.name): \(report.calls.count) calls, \(report.runs) faults")
        #expect(report.runs > 0, "no call was made through the seam")
        let shown = report.complaints.prefix(12).joined(separator: "\n")
        #expect(report.complaints.isEmpty, "\(report.complaints.count) of \(report.runs):\n\(shown)")
    }

    @Test func `reach every call of the seam`() async throws {
        var reached: Set<Call> = []
        for operation in FaultedOperation.all { reached.formUnion(try await operation.calls()) }
        // The number of calls of the readiness lane depends on the timing of its thread and the tasks. It has separate tests.
        let counted = Call.allCases.filter { !$0.rawValue.hasPrefix("readiness.") }
        #expect(Set(counted).subtracting(reached) == [], "no operation of the table makes these calls")
    }
}
