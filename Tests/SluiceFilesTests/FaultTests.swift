import Foundation
import SluiceFiles
import TestSupport
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

// MARK: - The seam

struct `The seam of system calls` {
    /// The calls of a table and its groups, as `read` or `randomAccess.readAt`.
    private static func names(of table: Any, in group: String = "") -> Set<String> {
        Mirror(reflecting: table).children.reduce(into: []) { names, child in
            let name = group + (child.label ?? "?")
            let isGroup = Mirror(reflecting: child.value).displayStyle == .struct
            if isGroup { names.formUnion(Self.names(of: child.value, in: name + ".")) } else { names.insert(name) }
        }
    }

    @Test func `every call can be intercepted: one that is new gets its lines in Support/Interception`() {
        let seam = Self.names(of: SystemCalls.system)
        let known = Set(Call.allCases.map(\.rawValue))
        #expect(seam.subtracting(known) == [], "missing in `Call`")
        #expect(known.subtracting(seam) == [], "no longer in the seam")
    }

    @Test func `a hook fails what it names, lets the rest through, and is told the results`() async throws {
        let seen = Guarded<[String]>([])
        let calls = SystemCalls.system.intercepted { call in
            call == .syncData ? EIO : nil
        } observing: { call, result in
            if ![.startThread, .inlineRead].contains(call) {
                seen.withLock { $0.append("\(call) \(result < 0 ? result : min(result, 1))") }
            }
        }
        try await withIO(calls: calls) { io, directory in
            let url = directory.appending(path: "file")
            let error = await expectFileError(.inputOutput) {
                try await pattern(10).asyncWrite(to: url, options: .init(durability: .data), using: io)
            }
            #expect(error?.systemError == EIO)
            #expect(
                seen.withLock { $0 } == [
                    "status -2", "open 1", "write 1", "syncData -5", "unlink 0", "close 0",
                ])
        }
    }

    @Test func `a close that is failed has closed`() async throws {
        try await withIO(calls: .failing(.close, with: EIO)) { io, directory in
            let url = directory.appending(path: "file")
            let descriptor = Guarded<CInt>(-1)
            let calls = SystemCalls.system.intercepted {
                $0 == .close ? EIO : nil
            } observing: { call, result in
                if call == .open { descriptor.withLock { $0 = CInt(result) } }
            }
            let file = url.path.withCString { calls.open($0, O_RDWR | O_CREAT, 0o600) }
            #expect(file >= 0 && file == descriptor.withLock { $0 })
            let before = try #require(calls.identity(of: file))
            #expect(calls.close(file) == -EIO)
            #expect(calls.identity(of: file) != before, "the number is free, or another file's")
        }
    }
}

extension SystemCalls {
    /// Device and inode of a descriptor, nil if it is closed.
    fileprivate func identity(of descriptor: CInt) -> [UInt64]? {
        var status = RawStatus()
        return statusOfDescriptor(descriptor, &status) == 0 ? [status.device, status.inode] : nil
    }
}
