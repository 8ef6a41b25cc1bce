import Dispatch
import Foundation
import SluiceFiles
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(2))) struct `Removing trees` {
    @Test func `progress counts each entry that is gone, to the last`() async throws {
        try await withIO(in: memoryDirectory) { io, directory in
            try makeTree((0..<1000).map { "tree/\($0 % 10)/\($0)" }, in: directory)
            let reports = Guarded<[FileProgress]>([])
            try await io.removeTree(directory.appending(path: "tree")) { report in
                reports.withLock { $0.append(report) }
            }
            let counts = reports.withLock { $0.map(\.completedEntries) }
            #expect(counts == counts.sorted() && counts.last == 1011 && counts.count > 5)
            #expect(reports.withLock { $0.map(\.isFinished) }.firstIndex(of: true) == counts.count - 1)
            makeFile("file", in: directory)
            try await io.removeTree(directory.appending(path: "file")) { #expect($0.completedEntries == 1) }
        }
    }

    @Test func `an entry is removed with its tree, and never the target of a link`() async throws {
        try await withIO { io, directory in
            try makeTree(["tree/a/b/c", "file", "outside/kept"], in: directory)
            #expect(symlink("outside", directory.appending(path: "link").path) == 0)
            for entry in try await io.entries(of: directory) where entry.name != "outside" {
                try await entry.removeTree()
                await expectFileError(.notFound) { try await entry.removeTree() }
            }
            #expect(names(in: directory) == ["outside"])
            #expect(names(in: directory.appending(path: "outside")) == ["kept"])
        }
    }

    @Test(arguments: ["link", "link/"])
    func `a link to a directory goes alone, however its path ends`(path: String) async throws {
        try await withIO { io, directory in
            try makeTree(["outside/kept"], in: directory)
            #expect(symlink("outside", directory.appending(path: "link").path) == 0)
            try await io.removeTree(URL(filePath: directory.path + "/" + path))
            #expect(names(in: directory) == ["outside"])
            #expect(names(in: directory.appending(path: "outside")) == ["kept"])
        }
    }

    @Test func `cancellation stops between two entries`() async throws {
        try await withIO(in: memoryDirectory) { io, directory in
            let tree = directory.appending(path: "tree")
            try makeTree((0..<2000).map { "tree/\($0)" }, in: directory)
            let task = Guarded<Task<Void, any Error>?>(nil)
            // The closure runs on a worker's thread, which may wait.
            let isKnown = DispatchSemaphore(value: 0)
            let removal = Task {
                try await io.removeTree(tree) { _ in
                    // Every report comes after some entries and before the rest.
                    isKnown.wait()
                    isKnown.signal()
                    task.withLock { $0 }?.cancel()
                }
            }
            task.withLock { $0 = removal }
            isKnown.signal()
            await #expect(throws: CancellationError.self) { try await removal.value }
            #expect((1...1999).contains(names(in: tree).count))
        }
    }

    @Test func `a directory that lists entries that cannot be removed ends in an error`() async throws {
        var calls = SystemCalls.system
        calls.unlinkAt = { directory, name, flags in
            String(cString: name) == "ghost" ? -ENOENT : SystemCalls.system.unlinkAt(directory, name, flags)
        }
        try await withIO(calls: calls) { io, directory in
            try makeTree(["tree/a/ghost", "tree/a/file"], in: directory)
            let error = await expectFileError(.notEmpty) { try await io.removeTree(directory.appending(path: "tree")) }
            #expect(error?.subject == directory.appending(path: "tree/a").path)
        }
        calls = .system
        calls.unlinkAt = { directory, name, flags in
            flags == 0 ? SystemCalls.system.unlinkAt(directory, name, flags) : -ENOTEMPTY
        }
        try await withIO(calls: calls) { io, directory in
            try makeTree(["tree/a/b/"], in: directory)
            await expectFileError(.notEmpty) { try await io.removeTree(directory.appending(path: "tree")) }
        }
    }
}
