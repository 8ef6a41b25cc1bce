import Foundation
import SluiceFiles
import Synchronization
import TestSupport
import Testing

/// Makes files (names without a slash at the end) and folders.
func makeTree(_ paths: [String], in folder: URL) throws {
    for path in paths {
        let url = folder.appending(path: path)
        let parent = path.hasSuffix("/") ? url : url.deletingLastPathComponent()
        try FileManager.default.createDirectory(at: parent, withIntermediateDirectories: true)
        if !path.hasSuffix("/") { try Data(path.utf8).write(to: url) }
    }
}

/// A chain of folders deeper than a path can say, with a file in each of the lowest `files`.
func makeDeepTree(_ depth: Int, in folder: URL, name: String = "d") {
    var descriptor = open(folder.path, O_RDONLY | O_DIRECTORY)
    for _ in 0..<depth {
        mkdirat(descriptor, name, 0o700)
        let next = openat(descriptor, name, O_RDONLY | O_DIRECTORY)
        close(descriptor)
        descriptor = next
    }
    #expect(descriptor >= 0)
    close(descriptor)
}

/// Counts descriptors that the engine opens.
final class DescriptorCounter: Sendable {
    private let counts = Guarded((now: 0, most: 0))
    var most: Int { counts.withLock { $0.most } }

    func counting(_ calls: SystemCalls = .system) -> SystemCalls {
        calls.intercepted(by: { _ in nil }) { [self] call, result in
            counts.withLock {
                if call == .open || call == .openAt, result >= 0 { $0.now += 1 }
                if call == .close { $0.now -= 1 }
                $0.most = max($0.most, $0.now)
            }
        }
    }
}

extension DirectoryWalk {
    /// The relative paths, as the walk gave them; `-` before those that it left, `!` before those that it could not read.
    func shown() async throws -> [String] {
        try await reduce(into: []) { lines, item in
            switch item.visit {
            case .found: lines.append(item.relativePath)
            case .leaving: lines.append("-" + item.relativePath)
            case .unreadable: lines.append("!" + item.relativePath)
            }
        }
    }
}

@Suite(.timeLimit(.minutes(5))) struct `Walking trees` {
    @Test func `a walk gives each name once, folders before what is in them`() async throws {
        try await withIO { io, folder in
            let paths = ["a/", "a/b/", "a/b/c", "a/d", "e", "f/"]
            try makeTree(paths, in: folder)
            var seen: [String] = []
            for try await item in io.walk(folder) {
                seen.append(item.relativePath)
                #expect(item.depth == item.relativePath.split(separator: "/").count)
                let isFolder = ["a", "a/b", "f"].contains(item.relativePath)
                #expect(item.kind == (isFolder ? .directory : .file))
                #expect(try await item.entry.status()?.kind == item.kind)
            }
            #expect(seen.sorted() == ["a", "a/b", "a/b/c", "a/d", "e", "f"])
            for path in seen where path.contains("/") {
                let parent = String(path[..<path.lastIndex(of: "/")!])
                #expect(seen.firstIndex(of: parent)! < seen.firstIndex(of: path)!)
            }
        }
    }

    @Test func `leaving comes after all that is in a folder, for those that were entered`() async throws {
        try await withIO { io, folder in
            try makeTree(["a/b/c", "x/y"], in: folder)
            var options = WalkOptions()
            options.leavingFolders = true
            options.entering = { $0.name != "x" }
            let lines = try await io.walk(folder, options: options).shown()
            #expect(lines.filter { $0 != "x" } == ["a", "a/b", "a/b/c", "-a/b", "-a"])
            #expect(lines.contains("x"))
        }
    }

    @Test func `a walk that removes files as they come and folders as they are left empties the tree`() async throws {
        try await withIO(in: memoryFolder) { io, folder in
            try makeTree((0..<2000).map { "\($0 % 7)/\($0 % 11)/\($0)" }, in: folder)
            var options = WalkOptions()
            options.leavingFolders = true
            for try await item in io.walk(folder, options: options) {
                if item.visit == .leaving || item.kind != .directory { try await item.entry.remove() }
            }
            #expect(names(in: folder) == [])
        }
    }

    @Test func `depth and a filter bound what is entered`() async throws {
        try await withIO { io, folder in
            try makeTree(["a/b/c/d", ".git/x", "e"], in: folder)
            var options = WalkOptions()
            options.mostDepth = 2
            options.entering = { item in item.name != ".git" }
            #expect(try await io.walk(folder, options: options).shown().sorted() == [".git", "a", "a/b", "e"])
            options.mostDepth = 1
            #expect(try await io.walk(folder, options: options).shown().sorted() == [".git", "a", "e"])
        }
    }

    @Test func `hostile names are walked, byte for byte`() async throws {
        try await withIO { io, folder in
            for name in hostileNames {
                #expect(withPath(folder, name) { mkdir($0, 0o700) } == 0)
                let entry = try #require(try await io.entries(of: folder).first { $0.rawName == name })
                #expect(entry.kind == .directory)
            }
            for entry in try await io.entries(of: folder) {
                for name in hostileNames {
                    let path: [UInt8] = Array("\(folder.path)/".utf8) + entry.rawName.bytes + [0x2F] + name.bytes + [0]
                    _ = path.withUnsafeBytes { close(open($0.bindMemory(to: CChar.self).baseAddress!, O_CREAT, 0o600)) }
                }
            }
            var paths: Set<[UInt8]> = []
            for try await item in io.walk(folder) { paths.insert(item.rawRelativePath) }
            var wanted: Set<[UInt8]> = []
            for outer in hostileNames {
                wanted.insert(outer.bytes)
                for inner in hostileNames { wanted.insert(outer.bytes + [0x2F] + inner.bytes) }
            }
            #expect(paths == wanted)
        }
    }

    @Test func `what is below an entry is walked from it, and an empty folder has nothing`() async throws {
        try await withIO { io, folder in
            try makeTree(["a/b/c", "f/"], in: folder)
            for entry in try await io.entries(of: folder) {
                #expect(try await entry.walk().shown() == (entry.name == "a" ? ["b", "b/c"] : []))
            }
            await expectFileError(.notFound) { try await io.walk(folder.appending(path: "none")).shown() }
            await expectFileError(.notDirectory) { try await io.walk(folder.appending(path: "a/b/c")).shown() }
        }
    }

    @Test func `a walk by a relative path or of the root gives true paths in URL and error`() async throws {
        try await withIO(calls: .failing(.statusAt, with: EACCES)) { io, _ in
            var options = WalkOptions()
            options.mostDepth = 1
            for try await item in io.walk(URL(filePath: "/"), options: options) {
                #expect(item.entry.url?.path == "/\(item.name)")
                let error = await expectFileError(.permissionDenied) { try await item.entry.status() }
                #expect(error?.path == "/\(item.name)")
            }
        }
    }

    // MARK: Depth

    @Test func `twenty thousand folders deep, with few descriptors, up and down`() async throws {
        let counter = DescriptorCounter()
        try await withIO(calls: counter.counting(), in: memoryFolder) { io, folder in
            makeDeepTree(20_000, in: folder)
            makeFile("beside", in: folder.appending(path: "d"))
            var options = WalkOptions()
            options.leavingFolders = true
            var (found, left, deepest) = (0, 0, 0)
            for try await item in io.walk(folder, options: options) {
                if item.visit == .leaving {
                    #expect(item.depth <= 20_000 - left)
                    left += 1
                } else {
                    found += 1
                }
                deepest = Swift.max(deepest, item.depth)
                if item.depth == 20_000 { #expect(item.rawRelativePath.count == 39_999) }
            }
            #expect(found == 20_001 && left == 20_000 && deepest == 20_000)
            #expect(try await io.walk(folder).reduce(0) { count, _ in count + 1 } == 20_001)
            // 34, and some whose close another thread is about to do.
            #expect(counter.most <= 150)
            try await io.removeTree(folder.appending(path: "d"))
        }
    }

    @Test func `what is beside the way down is not lost when folders far above are closed`() async throws {
        try await withIO(in: memoryFolder) { io, folder in
            var path = folder
            var wanted: Set<String> = []
            for level in 0..<40 {
                for index in 0..<3 {
                    makeFile(FileName("\(level)-\(index)"), in: path)
                    wanted.insert("\(level)-\(index)")
                }
                path = path.appending(path: "down")
                try await io.makeDirectory(at: path)
            }
            for index in 0..<1500 { makeFile(FileName("0-\(index)"), in: folder); wanted.insert("0-\(index)") }
            var seen: [String] = []
            for try await item in io.walk(folder) where item.kind == .file {
                seen.append(item.name)
                #expect(try await item.entry.status()?.kind == .file)
            }
            #expect(Set(seen) == wanted && seen.count == wanted.count)
        }
    }

    @Test func `a folder moved elsewhere while the walk is deep in it ends the walk, and nothing else is touched`()
        async throws
    {
        try await withIO { io, folder in
            let (tree, elsewhere) = (folder.appending(path: "tree"), folder.appending(path: "elsewhere"))
            makeDeepTree(1, in: folder, name: "tree")
            makeDeepTree(40, in: tree)
            try await io.makeDirectory(at: elsewhere)
            var options = WalkOptions()
            options.leavingFolders = true
            var left = 0
            await expectFileError(.busy) {
                for try await item in io.walk(tree, options: options) {
                    if item.depth == 5, item.visit == .found {
                        try await io.rename(tree.appending(path: "d/d/d"), to: elsewhere.appending(path: "d"))
                    }
                    if item.visit == .leaving { left += 1 }
                }
            }
            #expect(left == 37)
        }
    }

    // MARK: Links

    @Test func `links are given and not entered`() async throws {
        try await withIO { io, folder in
            try makeTree(["tree/a/", "outside/secret"], in: folder)
            let tree = folder.appending(path: "tree")
            #expect(symlink("../../outside", tree.appending(path: "a/link").path) == 0)
            #expect(symlink("..", tree.appending(path: "a/loop").path) == 0)
            #expect(try await io.walk(tree).shown().sorted() == ["a", "a/link", "a/loop"])
            #expect(symlink("tree", folder.appending(path: "itself").path) == 0)
            #expect(try await io.walk(folder.appending(path: "itself")).shown().count == 3)
        }
    }

    @Test func `followed links are entered once per way, and loops end`() async throws {
        try await withIO { io, folder in
            try makeTree(["tree/a/file", "outside/secret"], in: folder)
            let tree = folder.appending(path: "tree")
            #expect(symlink("../../outside", tree.appending(path: "a/link").path) == 0)
            #expect(symlink("..", tree.appending(path: "a/loop").path) == 0)
            #expect(symlink("self", tree.appending(path: "self").path) == 0)
            #expect(symlink("nowhere", tree.appending(path: "dangling").path) == 0)
            #expect(symlink("a/file", tree.appending(path: "to-file").path) == 0)
            var options = WalkOptions()
            options.followingLinks = true
            options.leavingFolders = true
            let lines = try await io.walk(tree, options: options).shown()
            let wanted = [
                "a", "a/file", "a/link", "a/link/secret", "-a/link", "a/loop", "-a", "self", "dangling", "to-file",
            ]
            #expect(lines.sorted() == wanted.sorted())
        }
    }

    @Test func `the way back from a link far below leads to where it was`() async throws {
        try await withIO { io, folder in
            // tree/d/…/d/link -> deep, deep/d/…/d, each deeper than the folders that stay open.
            let (tree, deep) = (folder.appending(path: "tree"), folder.appending(path: "deep"))
            for top in [tree, deep] {
                try await io.makeDirectory(at: top)
                makeDeepTree(30, in: top)
            }
            let lowest = tree.appending(path: Array(repeating: "d", count: 30).joined(separator: "/"))
            #expect(symlink(deep.path, lowest.appending(path: "link").path) == 0)
            makeFile("beside", in: lowest)
            var options = WalkOptions()
            options.followingLinks = true
            options.leavingFolders = true
            let lines = try await io.walk(tree, options: options).shown()
            #expect(lines.count == 123)
            #expect(lines.last == "-d")
        }
    }

    @Test func `at most forty links are entered on one way`() async throws {
        let counter = DescriptorCounter()
        try await withIO(calls: counter.counting()) { io, folder in
            for index in 0..<60 {
                let inner = folder.appending(path: "\(index)")
                try await io.makeDirectory(at: inner)
                #expect(symlink("../\(index + 1)", inner.appending(path: "next").path) == 0)
            }
            var options = WalkOptions()
            options.followingLinks = true
            let top = folder.appending(path: "0")
            let error = await expectFileError(.tooManyLinks) { try await io.walk(top, options: options).shown() }
            #expect(error?.path == top.path + String(repeating: "/next", count: 41))
            options.unreadableFolders = .deliver
            let lines = try await io.walk(top, options: options).shown()
            #expect(lines.count == 42 && lines.last?.first == "!")
            #expect(counter.most < 100)
        }
    }

    @Test func `a folder swapped for a link while it is walked is not followed`() async throws {
        let paths = Guarded<(inner: String, outside: String)?>(nil)
        var calls = SystemCalls.system
        calls.openAt = { folder, name, flags in
            if let names = paths.withLock({ $0.take() }) {
                _ = rmdir(names.inner)
                _ = symlink(names.outside, names.inner)
            }
            return SystemCalls.system.openAt(folder, name, flags)
        }
        try await withIO(calls: calls) { io, folder in
            try makeTree(["tree/inner/", "outside/secret"], in: folder)
            let tree = folder.appending(path: "tree")
            paths.withLock { $0 = (tree.appending(path: "inner").path, folder.appending(path: "outside").path) }
            #expect(try await io.walk(tree).shown() == ["inner"])
            #expect(paths.withLock { $0 } == nil)
        }
    }

    @Test func `file systems that do not tell kinds are walked all the same`() async throws {
        var calls = SystemCalls.system
        calls.folders.readEntries = { folder, entries in
            let first = entries.count
            let result = SystemCalls.system.folders.readEntries(folder, &entries)
            for index in first..<entries.count { entries[index].mode = 0 }
            return result
        }
        try await withIO(calls: calls) { io, folder in
            try makeTree(["a/b/c", "d"], in: folder)
            #expect(mkfifo(folder.appending(path: "fifo").path, 0o600) == 0)
            #expect(symlink("a", folder.appending(path: "link").path) == 0)
            #expect(try await io.walk(folder).shown().sorted() == ["a", "a/b", "a/b/c", "d", "fifo", "link"])
            for try await item in io.walk(folder) { #expect(item.kind == nil) }
            makeDeepTree(50, in: folder, name: "deep")
            var options = WalkOptions()
            options.followingLinks = true
            #expect(try await io.walk(folder, options: options).shown().count == 6 + 2 + 50)
        }
    }

    // MARK: Failures

    @Test(arguments: [EACCES, EIO, ESTALE, ENAMETOOLONG])
    func `a folder that cannot be opened ends the walk, or is delivered`(number: CInt) async throws {
        var calls = SystemCalls.system
        calls.openAt = { folder, name, flags in
            String(cString: name) == "locked" ? -number : SystemCalls.system.openAt(folder, name, flags)
        }
        try await withIO(calls: calls) { io, folder in
            try makeTree(["a", "in/locked/x", "z"], in: folder)
            do {
                _ = try await io.walk(folder).shown()
                Issue.record("no error")
            } catch let error as FileError {
                #expect(error.systemError == number && error.path == folder.appending(path: "in/locked").path)
            }
            var options = WalkOptions()
            options.unreadableFolders = .deliver
            options.leavingFolders = true
            let lines = try await io.walk(folder, options: options).shown()
            #expect(lines.sorted() == ["!in/locked", "-in", "a", "in", "in/locked", "z"])
        }
    }

    @Test(arguments: [EMFILE, ENFILE, ENOMEM])
    func `no more descriptors is never a folder's fault`(number: CInt) async throws {
        try await withIO(calls: .failing(.openAt, with: number)) { io, folder in
            try makeTree(["a/b"], in: folder)
            var options = WalkOptions()
            options.unreadableFolders = .deliver
            do {
                _ = try await io.walk(folder, options: options).shown()
                Issue.record("no error")
            } catch let error as FileError { #expect(error.systemError == number) }
        }
    }

    @Test func `a folder that fails half way gives what was read, then its error, and the rest of the tree`()
        async throws
    {
        let reads = Atomic(0)
        var calls = SystemCalls.system
        calls.folders.readEntries = { folder, entries in
            var status = RawStatus()
            _ = SystemCalls.system.statusOfDescriptor(folder, &status)
            guard status.permissions == 0o711 else { return SystemCalls.system.folders.readEntries(folder, &entries) }
            if reads.add(1, ordering: .relaxed).newValue % 2 == 0 { return -EIO }
            return SystemCalls.system.folders.readEntries(folder, &entries)
        }
        try await withIO(calls: calls) { io, folder in
            try makeTree(["bad/x", "good/y"], in: folder)
            let bad = folder.appending(path: "bad")
            // So deep that "bad" is read to its end, and fails, while the walk is far below.
            makeDeepTree(40, in: bad)
            #expect(chmod(bad.path, 0o711) == 0)
            await expectFileError(.inputOutput) { try await io.walk(folder).shown() }
            var options = WalkOptions()
            options.unreadableFolders = .deliver
            options.leavingFolders = true
            let lines = try await io.walk(folder, options: options).shown()
            #expect(lines.filter { $0.first == "!" } == ["!bad"])
            #expect(Set(lines).isSuperset(of: ["bad/x", "good/y", "-bad", "-good"]))
            let (failed, left) = (lines.firstIndex(of: "!bad"), lines.firstIndex(of: "-bad"))
            #expect(failed.map { $0 + 1 } == left)
            #expect(lines.count == 87)
        }
    }

    @Test func `a walk is left, cancelled and dropped anywhere, and leaves nothing open`() async throws {
        try await withIO(in: memoryFolder) { io, folder in
            makeDeepTree(100, in: folder)
            try makeTree((0..<1000).map { "x/\($0 % 20)/\($0)" }, in: folder)
            let total = try await io.walk(folder).shown().count
            for stop in stride(from: 1, to: total, by: 97) {
                var count = 0
                for try await _ in io.walk(folder) {
                    count += 1
                    if count == stop { break }
                }
                let task = Task {
                    var count = 0
                    for try await _ in io.walk(folder) {
                        count += 1
                        if count == stop { withUnsafeCurrentTask { $0?.cancel() } }
                    }
                    return count
                }
                switch await task.result {
                case .success(let count): #expect(count == total)
                case .failure(let error): #expect(error is CancellationError)
                }
            }
        }
    }

    @Test func `entries kept from a walk still work after it ended`() async throws {
        try await withIO(in: memoryFolder) { io, folder in
            makeDeepTree(60, in: folder)
            let kept = try await io.walk(folder).reduce(into: []) { $0.append($1.entry) }
            for entry in kept { #expect(try await entry.status()?.kind == .directory) }
        }
    }

    @Test func `a tree that changes while it is walked neither fails nor repeats`() async throws {
        try await withIO(threads: 8, in: memoryFolder) { io, folder in
            try makeTree((0..<400).map { "\($0 % 20)/\($0)/stays" }, in: folder)
            let stop = Atomic(false)
            let changes = Task.detached {
                var count = 0
                while !stop.load(ordering: .relaxed) {
                    let inner = folder.appending(path: "\(count % 20)/new\(count)")
                    try await io.makeDirectory(at: inner)
                    try await io.removeTree(inner)
                    count += 1
                }
            }
            for _ in 0..<10 {
                let paths = try await io.walk(folder).shown()
                #expect(Set(paths).count == paths.count)
                #expect(paths.count { $0.hasSuffix("stays") } == 400)
            }
            stop.store(true, ordering: .relaxed)
            try await changes.value
        }
    }
}
