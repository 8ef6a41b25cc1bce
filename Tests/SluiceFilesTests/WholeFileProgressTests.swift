import Foundation
import SluiceFiles
import TestSupport
import Testing

/// Records the reports.
private final class Reports: Sendable {
    private let list = Guarded<[FileProgress]>([])
    var all: [FileProgress] { list.withLock { $0 } }
    func add(_ progress: FileProgress) { list.withLock { $0.append(progress) } }

    /// What every list of reports is like, and what this one ended with.
    func expect(_ count: Int, total: Int?, sourceLocation: SourceLocation = #_sourceLocation) {
        let all = all
        #expect(all.map(\.completedBytes) == all.map(\.completedBytes).sorted(), sourceLocation: sourceLocation)
        #expect(all.dropLast().allSatisfy { !$0.isFinished }, sourceLocation: sourceLocation)
        #expect(
            all.last?.isFinished == true && all.last?.completedBytes == Int64(count), sourceLocation: sourceLocation)
        #expect(all.allSatisfy { $0.totalBytes == total.map(Int64.init) }, sourceLocation: sourceLocation)
    }
}

struct `Progress of whole files` {
    @Test(arguments: [0, 1, 4 << 20, (9 << 20) + 5])
    func `writing and reading report each four mebibytes and the end`(size: Int) async throws {
        try await withIO(in: memoryDirectory) { io, directory in
            let url = directory.appending(path: "file")
            let data = Data(repeating: 7, count: size)
            let written = Reports(), read = Reports()

            try await data.asyncWrite(to: url, using: io) { written.add($0) }
            let found = try await Data(asyncContentsOf: url, using: io) { read.add($0) }

            #expect(same(found, data) && same(contents(of: url), data))
            written.expect(size, total: size)
            read.expect(size, total: size > 0 ? size : nil)
            #expect(written.all.count == size / (4 << 20) + 1)
            #expect(read.all.count >= size / (4 << 20) + 1)
        }
    }

    @Test func `a failed operation makes no last report`() async throws {
        try await withIO(calls: .failing(.rename, with: EIO)) { io, directory in
            let reports = Reports()
            await expectFileError(.inputOutput) {
                try await pattern(10).asyncWrite(to: directory.appending(path: "file"), using: io) { reports.add($0) }
            }
            await expectFileError(.notFound) {
                try await Data(asyncContentsOf: directory.appending(path: "file"), using: io) { reports.add($0) }
            }
            #expect(reports.all.isEmpty)
        }
    }
}
