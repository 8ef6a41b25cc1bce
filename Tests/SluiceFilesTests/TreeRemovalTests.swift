import Dispatch
import Foundation
import SluiceFiles
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(2))) struct `Removing trees` {
    @Test func `progress counts each entry that is gone, to the last`() async throws {
        try await withIO(in: memoryFolder) { io, folder in
            try makeTree((0..<1000).map { "tree/\($0 % 10)/\($0)" }, in: folder)
            let reports = Guarded<[FileProgress]>([])
            try await io.removeTree(folder.appending(path: "tree")) { report in reports.withLock { $0.append(report) } }
            let counts = reports.withLock { $0.map(\.completedEntries) }
            #expect(counts == counts.sorted() && counts.last == 1011 && counts.count > 5)
            #expect(reports.withLock { $0.map(\.isFinished) }.firstIndex(of: true) == counts.count - 1)
            makeFile("file", in: folder)
            try await io.removeTree(folder.appending(path: "file")) { #expect($0.completedEntries == 1) }
        }
    }

    @Test func `an entry takes its tree along, or itself, and never what a link points to`() async throws {
        try await withIO { io, folder in
            try makeTree(["tree/a/b/c", "file", "outside/kept"], in: folder)
            #expect(symlink("outside", folder.appending(path: "link").path) == 0)
            for entry in try await io.entries(of: folder) where entry.name != "outside" {
                try await entry.removeTree()
                await expectFileError(.notFound) { try await entry.removeTree() }
            }
            #expect(names(in: folder) == ["outside"])
            #expect(names(in: folder.appending(path: "outside")) == ["kept"])
        }
    }

    @Test(arguments: ["link", "link/"])
    func `a link to a folder goes alone, however its path ends`(path: String) async throws {
        try await withIO { io, folder in
            try makeTree(["outside/kept"], in: folder)
            #expect(symlink("outside", folder.appending(path: "link").path) == 0)
            try await io.removeTree(URL(filePath: folder.path + "/" + path))
            #expect(names(in: folder) == ["outside"])
            #expect(names(in: folder.appending(path: "outside")) == ["kept"])
        }
    }

    @Test func `cancellation stops between two entries`() async throws {
        try await withIO(in: memoryFolder) { io, folder in
            let tree = folder.appending(path: "tree")
            try makeTree((0..<2000).map { "tree/\($0)" }, in: folder)
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

    @Test func `a folder that lists what cannot be removed ends in an error, not never`() async throws {
        var calls = SystemCalls.system
        calls.unlinkAt = { folder, name, flags in
            String(cString: name) == "ghost" ? -ENOENT : SystemCalls.system.unlinkAt(folder, name, flags)
        }
        try await withIO(calls: calls) { io, folder in
            try makeTree(["tree/a/ghost", "tree/a/file"], in: folder)
            let error = await expectFileError(.notEmpty) { try await io.removeTree(folder.appending(path: "tree")) }
            #expect(error?.path == folder.appending(path: "tree/a").path)
        }
        calls = .system
        calls.unlinkAt = { folder, name, flags in
            flags == 0 ? SystemCalls.system.unlinkAt(folder, name, flags) : -ENOTEMPTY
        }
        try await withIO(calls: calls) { io, folder in
            try makeTree(["tree/a/b/"], in: folder)
            await expectFileError(.notEmpty) { try await io.removeTree(folder.appending(path: "tree")) }
        }
    }
}
