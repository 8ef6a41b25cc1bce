import Foundation
import SluiceFiles
import TestSupport
import Testing

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
