import Dispatch
import Foundation
import SluiceFiles
import Synchronization
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(15))) struct `Progress of long work` {
    @Test func `without a listener, there is no counter`() {
        #expect(ProgressCounter(nil) == nil)
    }

    @Test func `progress is reported every 4 MiB or 128 entries, and at the end`() throws {
        let reports = Guarded<[FileProgress]>([])
        let listen: ProgressCounter.Report = { progress in reports.withLock { $0.append(progress) } }
        let counter = try #require(ProgressCounter(listen, totalBytes: 12 << 20))
        for _ in 0..<12 { counter.add(bytes: 1 << 20) }
        #expect(reports.withLock { $0.map(\.completedBytes) } == [4 << 20, 8 << 20, 12 << 20])
        for _ in 0..<130 { counter.add(entries: 1) }
        #expect(reports.withLock { $0.map(\.completedEntries) } == [0, 0, 0, 128])
        counter.expect(totalBytes: 13 << 20, totalEntries: 130)
        counter.finish()
        let last = FileProgress(
            completedBytes: 12 << 20, totalBytes: 13 << 20, completedEntries: 130, totalEntries: 130, isFinished: true)
        #expect(reports.withLock { $0.last } == last)
        #expect(reports.withLock { $0.map(\.isFinished) } == [false, false, false, false, true])
    }

    @Test func `reports from many threads come one at a time and never decrease`() async throws {
        let isInside = Atomic(false)
        let reports = Guarded<[FileProgress]>([])
        let listen: ProgressCounter.Report = { progress in
            let isSecond = isInside.exchange(true, ordering: .sequentiallyConsistent)
            #expect(!isSecond, "two concurrently")
            reports.withLock { $0.append(progress) }
            isInside.store(false, ordering: .sequentiallyConsistent)
        }
        let counter = try #require(ProgressCounter(listen))
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<4 {
                group.addTask { for _ in 0..<5000 { counter.add(bytes: 64 << 10, entries: 1) } }
            }
        }
        counter.finish()
        let all = reports.withLock { $0 }
        #expect(all.last?.completedBytes == 20_000 * (64 << 10) && all.last?.completedEntries == 20_000)
        #expect(zip(all, all.dropFirst()).allSatisfy { $0.completedBytes <= $1.completedBytes })
        #expect(all.count { $0.isFinished } == 1)
        // 320 steps of 4 MiB, each reported at most once.
        #expect(all.count <= 321 && all.count > 1)
    }

    @Test func `a report that becomes due during another is made by the thread that is already reporting`() async throws
    {
        let reports = Guarded<[Int]>([])
        let reported = Guarded(0)
        let (isInside, goOn) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let listen: ProgressCounter.Report = { progress in
            let count = reports.withLock {
                $0.append(Int(progress.completedBytes)); return $0.count
            }
            if count == 1 {
                isInside.signal()
                goOn.wait()
            }
        }
        let counter = try #require(ProgressCounter(listen))
        let first = Thread {
            counter.add(bytes: 4 << 20); isInside.signal()
        }
        first.start()
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                isInside.wait()
                counter.add(bytes: 5 << 20)  // neither waits for the closure nor calls it
                reported.withLock { $0 = reports.withLock { $0.count } }
                goOn.signal()
                isInside.wait()
                continuation.resume()
            }
        }
        #expect(reported.withLock { $0 } == 1)
        #expect(reports.withLock { $0 } == [4 << 20, 9 << 20])
    }

    @Test(
        arguments: [
            (FileProgress(), nil), (FileProgress(completedBytes: 5, totalBytes: 10), 0.5),
            (FileProgress(completedBytes: 5, totalBytes: 10, completedEntries: 3, totalEntries: 4), 0.5),
            (FileProgress(completedBytes: 5, completedEntries: 3, totalEntries: 4), 0.75),
            (FileProgress(completedBytes: 5, totalBytes: 0), nil), (FileProgress(totalBytes: 0, isFinished: true), 1),
            (FileProgress(completedBytes: 11, totalBytes: 10), 0.999), (FileProgress(isFinished: true), 1),
            (FileProgress(completedBytes: 5, totalBytes: 10, isFinished: true), 1),
        ] as [(FileProgress, Double?)])
    func `the fraction is based on the bytes, or else on the entries, and is 1 only at the end`(
        progress: FileProgress, fraction: Double?
    ) {
        #expect(progress.fractionCompleted == fraction)
    }
}

// MARK: - Whole files

/// Records the reports.
private final class Reports: Sendable {
    private let list = Guarded<[FileProgress]>([])
    var all: [FileProgress] { list.withLock { $0 } }
    func add(_ progress: FileProgress) { list.withLock { $0.append(progress) } }

    /// Expects what is true of every list of reports, and how this one ends.
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
    func `writing and reading report every 4 MiB and at the end`(size: Int) async throws {
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

    @Test func `a failed operation makes no final report`() async throws {
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
