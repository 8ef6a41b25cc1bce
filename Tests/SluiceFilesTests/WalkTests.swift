import Foundation
import SluiceFiles
import Synchronization
import TestSupport
import Testing

/// Creates files (names without a slash at the end) and directories.
func makeTree(_ paths: [String], in directory: URL) throws {
    for path in paths {
        let url = directory.appending(path: path)
        let parent = path.hasSuffix("/") ? url : url.deletingLastPathComponent()
        try FileManager.default.createDirectory(at: parent, withIntermediateDirectories: true)
        if !path.hasSuffix("/") { try Data(path.utf8).write(to: url) }
    }
}

/// Creates a chain of directories deeper than any path, with a file in each of the lowest `files`.
func makeDeepTree(_ depth: Int, in directory: URL, name: String = "d") {
    var descriptor = open(directory.path, O_RDONLY | O_DIRECTORY)
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
    /// The relative paths in the order of the walk, with `-` before directories that it left and `!` before those that it couldn't read.
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

@Suite(.timeLimit(.minutes(15))) struct `Walking trees` {
    @Test func `a walk returns each name once, and directories before their entries`() async throws {
        try await withIO { io, directory in
            let paths = ["a/", "a/b/", "a/b/c", "a/d", "e", "f/"]
            try makeTree(paths, in: directory)
            var seen: [String] = []
            for try await item in io.walk(directory) {
                seen.append(item.relativePath)
                #expect(item.depth == item.relativePath.split(separator: "/").count)
                let isDirectory = ["a", "a/b", "f"].contains(item.relativePath)
                #expect(item.kind == (isDirectory ? .directory : .file))
                #expect(try await item.entry.status()?.kind == item.kind)
            }
            #expect(seen.sorted() == ["a", "a/b", "a/b/c", "a/d", "e", "f"])
            for path in seen where path.contains("/") {
                let parent = String(path[..<path.lastIndex(of: "/")!])
                #expect(seen.firstIndex(of: parent)! < seen.firstIndex(of: path)!)
            }
        }
    }

    @Test func `a directory that was entered is left after all its entries`() async throws {
        try await withIO { io, directory in
            try makeTree(["a/b/c", "x/y"], in: directory)
            var options = WalkOptions()
            options.leavingDirectories = true
            options.entering = { $0.name != "x" }
            let lines = try await io.walk(directory, options: options).shown()
            #expect(lines.filter { $0 != "x" } == ["a", "a/b", "a/b/c", "-a/b", "-a"])
            #expect(lines.contains("x"))
        }
    }

    @Test func `a walk that removes files when they come and directories when they are left empties the tree`()
        async throws
    {
        try await withIO(in: memoryDirectory) { io, directory in
            try makeTree((0..<2000).map { "\($0 % 7)/\($0 % 11)/\($0)" }, in: directory)
            var options = WalkOptions()
            options.leavingDirectories = true
            for try await item in io.walk(directory, options: options) {
                if item.visit == .leaving || item.kind != .directory { try await item.entry.remove() }
            }
            #expect(names(in: directory) == [])
        }
    }

    @Test func `a maximum depth and a filter limit which directories are entered`() async throws {
        try await withIO { io, directory in
            try makeTree(["a/b/c/d", ".git/x", "e"], in: directory)
            var options = WalkOptions()
            options.maximumDepth = 2
            options.entering = { item in item.name != ".git" }
            #expect(try await io.walk(directory, options: options).shown().sorted() == [".git", "a", "a/b", "e"])
            options.maximumDepth = 1
            #expect(try await io.walk(directory, options: options).shown().sorted() == [".git", "a", "e"])
        }
    }

    @Test func `hostile names are walked byte for byte`() async throws {
        try await withIO { io, directory in
            for name in hostileNames {
                #expect(withPath(directory, name) { mkdir($0, 0o700) } == 0)
                let entry = try #require(try await io.entries(of: directory).first { $0.rawName == name })
                #expect(entry.kind == .directory)
            }
            for entry in try await io.entries(of: directory) {
                for name in hostileNames {
                    let path: [UInt8] =
                        Array("\(directory.path)/".utf8) + entry.rawName.bytes + [0x2F] + name.bytes + [0]
                    _ = path.withUnsafeBytes { close(open($0.bindMemory(to: CChar.self).baseAddress!, O_CREAT, 0o600)) }
                }
            }
            var paths: Set<[UInt8]> = []
            for try await item in io.walk(directory) { paths.insert(item.rawRelativePath) }
            var wanted: Set<[UInt8]> = []
            for outer in hostileNames {
                wanted.insert(outer.bytes)
                for inner in hostileNames { wanted.insert(outer.bytes + [0x2F] + inner.bytes) }
            }
            #expect(paths == wanted)
        }
    }

    @Test func `a walk can start at an entry, and a walk of an empty directory has no items`() async throws {
        try await withIO { io, directory in
            try makeTree(["a/b/c", "f/"], in: directory)
            for entry in try await io.entries(of: directory) {
                #expect(try await entry.walk().shown() == (entry.name == "a" ? ["b", "b/c"] : []))
            }
            await expectFileError(.notFound) { try await io.walk(directory.appending(path: "none")).shown() }
            await expectFileError(.notDirectory) { try await io.walk(directory.appending(path: "a/b/c")).shown() }
        }
    }

    @Test func `a walk of a relative path or of the root has correct paths in URLs and errors`() async throws {
        try await withIO(calls: .failing(.statusAt, with: EACCES)) { io, _ in
            var options = WalkOptions()
            options.maximumDepth = 1
            for try await item in io.walk(URL(filePath: "/"), options: options) {
                #expect(item.entry.url?.path == "/\(item.name)")
                let error = await expectFileError(.permissionDenied) { try await item.entry.status() }
                #expect(error?.subject == "/\(item.name)")
            }
        }
    }

    // MARK: Depth

    @Test func `a tree twenty thousand directories deep is walked down and up with few descriptors`() async throws {
        let counter = DescriptorCounter()
        try await withIO(calls: counter.counting(), in: memoryDirectory) { io, directory in
            makeDeepTree(20_000, in: directory)
            makeFile("beside", in: directory.appending(path: "d"))
            var options = WalkOptions()
            options.leavingDirectories = true
            var (found, left, deepest) = (0, 0, 0)
            for try await item in io.walk(directory, options: options) {
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
            #expect(try await io.walk(directory).reduce(0) { count, _ in count + 1 } == 20_001)
            // 34, and some that another thread is about to close.
            #expect(counter.most <= 150)
            try await io.removeTree(directory.appending(path: "d"))
        }
    }

    @Test func `entries beside a deep path aren't lost when directories far above are closed`() async throws {
        try await withIO(in: memoryDirectory) { io, directory in
            var path = directory
            var wanted: Set<String> = []
            for level in 0..<40 {
                for index in 0..<3 {
                    makeFile(DirectoryEntry.Name("\(level)-\(index)"), in: path)
                    wanted.insert("\(level)-\(index)")
                }
                path = path.appending(path: "down")
                try await io.createDirectory(at: path)
            }
            for index in 0..<1500 {
                makeFile(DirectoryEntry.Name("0-\(index)"), in: directory); wanted.insert("0-\(index)")
            }
            var seen: [String] = []
            for try await item in io.walk(directory) where item.kind == .file {
                seen.append(item.name)
                #expect(try await item.entry.status()?.kind == .file)
            }
            #expect(Set(seen) == wanted && seen.count == wanted.count)
        }
    }

    @Test func `moving a directory while the walk is deep in it ends the walk, and nothing else is touched`()
        async throws
    {
        try await withIO { io, directory in
            let (tree, elsewhere) = (directory.appending(path: "tree"), directory.appending(path: "elsewhere"))
            makeDeepTree(1, in: directory, name: "tree")
            makeDeepTree(40, in: tree)
            try await io.createDirectory(at: elsewhere)
            var options = WalkOptions()
            options.leavingDirectories = true
            var left = 0
            await expectFileError(.busy) {
                for try await item in io.walk(tree, options: options) {
                    if item.depth == 5, item.visit == .found {
                        try await io.rename(
                            tree.appending(path: "d/d/d"), to: elsewhere.appending(path: "d"), existing: .replace)
                    }
                    if item.visit == .leaving { left += 1 }
                }
            }
            #expect(left == 37)
        }
    }

    // MARK: Links

    @Test func `links are returned and not entered`() async throws {
        try await withIO { io, directory in
            try makeTree(["tree/a/", "outside/secret"], in: directory)
            let tree = directory.appending(path: "tree")
            #expect(symlink("../../outside", tree.appending(path: "a/link").path) == 0)
            #expect(symlink("..", tree.appending(path: "a/loop").path) == 0)
            #expect(try await io.walk(tree).shown().sorted() == ["a", "a/link", "a/loop"])
            #expect(symlink("tree", directory.appending(path: "itself").path) == 0)
            #expect(try await io.walk(directory.appending(path: "itself")).shown().count == 3)
        }
    }

    @Test func `followed links are entered once per path, and loops end`() async throws {
        try await withIO { io, directory in
            try makeTree(["tree/a/file", "outside/secret"], in: directory)
            let tree = directory.appending(path: "tree")
            #expect(symlink("../../outside", tree.appending(path: "a/link").path) == 0)
            #expect(symlink("..", tree.appending(path: "a/loop").path) == 0)
            #expect(symlink("self", tree.appending(path: "self").path) == 0)
            #expect(symlink("nowhere", tree.appending(path: "dangling").path) == 0)
            #expect(symlink("a/file", tree.appending(path: "to-file").path) == 0)
            var options = WalkOptions()
            options.followsLinks = true
            options.leavingDirectories = true
            let lines = try await io.walk(tree, options: options).shown()
            let wanted = [
                "a", "a/file", "a/link", "a/link/secret", "-a/link", "a/loop", "-a", "self", "dangling", "to-file",
            ]
            #expect(lines.sorted() == wanted.sorted())
        }
    }

    @Test func `after a link deep in the tree, the walk returns to where it was`() async throws {
        try await withIO { io, directory in
            // tree/d/…/d/link -> deep, deep/d/…/d, each deeper than the directories that stay open.
            let (tree, deep) = (directory.appending(path: "tree"), directory.appending(path: "deep"))
            for top in [tree, deep] {
                try await io.createDirectory(at: top)
                makeDeepTree(30, in: top)
            }
            let lowest = tree.appending(path: Array(repeating: "d", count: 30).joined(separator: "/"))
            #expect(symlink(deep.path, lowest.appending(path: "link").path) == 0)
            makeFile("beside", in: lowest)
            var options = WalkOptions()
            options.followsLinks = true
            options.leavingDirectories = true
            let lines = try await io.walk(tree, options: options).shown()
            #expect(lines.count == 123)
            #expect(lines.last == "-d")
        }
    }

    @Test func `at most forty links are entered on one path`() async throws {
        let counter = DescriptorCounter()
        try await withIO(calls: counter.counting()) { io, directory in
            for index in 0..<60 {
                let inner = directory.appending(path: "\(index)")
                try await io.createDirectory(at: inner)
                #expect(symlink("../\(index + 1)", inner.appending(path: "next").path) == 0)
            }
            var options = WalkOptions()
            options.followsLinks = true
            let top = directory.appending(path: "0")
            let error = await expectFileError(.tooManyLinks) { try await io.walk(top, options: options).shown() }
            #expect(error?.subject == top.path + String(repeating: "/next", count: 41))
            options.unreadableDirectories = .deliver
            let lines = try await io.walk(top, options: options).shown()
            #expect(lines.count == 42 && lines.last?.first == "!")
            #expect(counter.most < 100)
        }
    }

    @Test func `a directory that is replaced by a link during the walk isn't followed`() async throws {
        let paths = Guarded<(inner: String, outside: String)?>(nil)
        var calls = SystemCalls.system
        calls.openAt = { directory, name, flags in
            if let names = paths.withLock({ $0.take() }) {
                _ = rmdir(names.inner)
                _ = symlink(names.outside, names.inner)
            }
            return SystemCalls.system.openAt(directory, name, flags)
        }
        try await withIO(calls: calls) { io, directory in
            try makeTree(["tree/inner/", "outside/secret"], in: directory)
            let tree = directory.appending(path: "tree")
            paths.withLock { $0 = (tree.appending(path: "inner").path, directory.appending(path: "outside").path) }
            #expect(try await io.walk(tree).shown() == ["inner"])
            #expect(paths.withLock { $0 } == nil)
        }
    }

    @Test func `a file system that doesn't report kinds can be walked`() async throws {
        var calls = SystemCalls.system
        calls.directories.readEntries = { directory, entries in
            let first = entries.count
            let result = SystemCalls.system.directories.readEntries(directory, &entries)
            for index in first..<entries.count { entries[index].mode = 0 }
            return result
        }
        try await withIO(calls: calls) { io, directory in
            try makeTree(["a/b/c", "d"], in: directory)
            #expect(mkfifo(directory.appending(path: "fifo").path, 0o600) == 0)
            #expect(symlink("a", directory.appending(path: "link").path) == 0)
            #expect(try await io.walk(directory).shown().sorted() == ["a", "a/b", "a/b/c", "d", "fifo", "link"])
            for try await item in io.walk(directory) { #expect(item.kind == nil) }
            makeDeepTree(50, in: directory, name: "deep")
            var options = WalkOptions()
            options.followsLinks = true
            #expect(try await io.walk(directory, options: options).shown().count == 6 + 2 + 50)
        }
    }

    // MARK: Failures

    @Test(arguments: [EACCES, EIO, ESTALE, ENAMETOOLONG])
    func `a directory that can't be opened ends the walk or is delivered`(number: CInt) async throws {
        var calls = SystemCalls.system
        calls.openAt = { directory, name, flags in
            String(cString: name) == "locked" ? -number : SystemCalls.system.openAt(directory, name, flags)
        }
        try await withIO(calls: calls) { io, directory in
            try makeTree(["a", "in/locked/x", "z"], in: directory)
            do {
                _ = try await io.walk(directory).shown()
                Issue.record("no error")
            } catch let error as FileError {
                #expect(error.systemError == number && error.subject == directory.appending(path: "in/locked").path)
            }
            var options = WalkOptions()
            options.unreadableDirectories = .deliver
            options.leavingDirectories = true
            let lines = try await io.walk(directory, options: options).shown()
            #expect(lines.sorted() == ["!in/locked", "-in", "a", "in", "in/locked", "z"])
        }
    }

    @Test(arguments: [EMFILE, ENFILE, ENOMEM])
    func `running out of descriptors or memory always ends the walk`(number: CInt) async throws {
        try await withIO(calls: .failing(.openAt, with: number)) { io, directory in
            try makeTree(["a/b"], in: directory)
            var options = WalkOptions()
            options.unreadableDirectories = .deliver
            do {
                _ = try await io.walk(directory, options: options).shown()
                Issue.record("no error")
            } catch let error as FileError { #expect(error.systemError == number) }
        }
    }

    @Test func `a directory that fails halfway delivers its first entries and its error, and the walk continues`()
        async throws
    {
        let reads = Atomic(0)
        var calls = SystemCalls.system
        calls.directories.readEntries = { directory, entries in
            var status = RawStatus()
            _ = SystemCalls.system.statusOfDescriptor(directory, &status)
            guard status.permissions == 0o711 else {
                return SystemCalls.system.directories.readEntries(directory, &entries)
            }
            if reads.add(1, ordering: .relaxed).newValue % 2 == 0 { return -EIO }
            return SystemCalls.system.directories.readEntries(directory, &entries)
        }
        try await withIO(calls: calls) { io, directory in
            try makeTree(["bad/x", "good/y"], in: directory)
            let bad = directory.appending(path: "bad")
            // So deep that "bad" is read to its end, and fails, while the walk is far below.
            makeDeepTree(40, in: bad)
            #expect(chmod(bad.path, 0o711) == 0)
            await expectFileError(.inputOutput) { try await io.walk(directory).shown() }
            var options = WalkOptions()
            options.unreadableDirectories = .deliver
            options.leavingDirectories = true
            let lines = try await io.walk(directory, options: options).shown()
            #expect(lines.filter { $0.first == "!" } == ["!bad"])
            #expect(Set(lines).isSuperset(of: ["bad/x", "good/y", "-bad", "-good"]))
            let (failed, left) = (lines.firstIndex(of: "!bad"), lines.firstIndex(of: "-bad"))
            #expect(failed.map { $0 + 1 } == left)
            #expect(lines.count == 87)
        }
    }

    @Test func `a walk that is left, cancelled or dropped anywhere leaves nothing open`() async throws {
        try await withIO(in: memoryDirectory) { io, directory in
            makeDeepTree(100, in: directory)
            try makeTree((0..<1000).map { "x/\($0 % 20)/\($0)" }, in: directory)
            let total = try await io.walk(directory).shown().count
            for stop in stride(from: 1, to: total, by: 97) {
                var count = 0
                for try await _ in io.walk(directory) {
                    count += 1
                    if count == stop { break }
                }
                let task = Task {
                    var count = 0
                    for try await _ in io.walk(directory) {
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

    @Test func `entries of a walk still work after it has ended`() async throws {
        try await withIO(in: memoryDirectory) { io, directory in
            makeDeepTree(60, in: directory)
            let kept = try await io.walk(directory).reduce(into: []) { $0.append($1.entry) }
            for entry in kept { #expect(try await entry.status()?.kind == .directory) }
        }
    }

    @Test func `walking a tree that changes neither fails nor repeats an entry`() async throws {
        try await withIO(concurrency: 8, in: memoryDirectory) { io, directory in
            try makeTree((0..<400).map { "\($0 % 20)/\($0)/stays" }, in: directory)
            let stop = Atomic(false)
            let changes = Task.detached {
                var count = 0
                while !stop.load(ordering: .relaxed) {
                    let inner = directory.appending(path: "\(count % 20)/new\(count)")
                    try await io.createDirectory(at: inner)
                    try await io.removeTree(inner)
                    count += 1
                }
            }
            for _ in 0..<10 {
                let paths = try await io.walk(directory).shown()
                #expect(Set(paths).count == paths.count)
                #expect(paths.count { $0.hasSuffix("stays") } == 400)
            }
            stop.store(true, ordering: .relaxed)
            try await changes.value
        }
    }

    @Test func `a maximum depth of 0 or less delivers nothing`() async throws {
        try await withIO { io, directory in
            try makeTree(["a/b"], in: directory)
            for depth in [0, -1, .min] {
                var options = WalkOptions()
                options.maximumDepth = depth
                for try await item in io.walk(directory, options: options) { Issue.record("\(item.relativePath)") }
            }
            await expectFileError(.notFound) {
                var options = WalkOptions()
                options.maximumDepth = 0
                for try await _ in io.walk(directory.appending(path: "none"), options: options) {}
            }
        }
    }
}
