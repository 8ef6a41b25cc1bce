import Foundation
import SluiceFiles
import Testing

@Suite(.timeLimit(.minutes(5))) struct `Copies on every file system` {
    @Test(arguments: FileSystem.all)
    func `have the contents of the original, within a file system and from another`(system: FileSystem) async throws {
        try await withIO(in: system.directory) { io, directory in
            try await io.withTemporaryDirectory(in: memoryDirectory) { other in
                for size in [0, 1, 100_000, large] {
                    let (a, b) = (directory.appending(path: "a"), directory.appending(path: "b"))
                    let far = other.appending(path: "a")
                    try makeFile(a, size)
                    try makeFile(far, size, seed: 2)
                    let result = try await io.copy(
                        a, to: b, options: .init(durability: .fullAndDirectory, existing: .replace))
                    #expect(result.bytes == size && sameFiles(a, b))
                    // What these were made for.
                    if ["btrfs", "xfs"].contains(system.name) { #expect(result.method == .clone) }
                    if ["ext4", "tmpfs"].contains(system.name), size > 0, copiesInKernel {
                        #expect(result.method == .kernelCopy)
                    }
                    try await io.copy(far, to: b, options: .init(existing: .replace))
                    #expect(sameFiles(far, b))
                    try await io.copy(a, to: far, options: .init(existing: .replace))
                    #expect(sameFiles(a, far))
                    #expect(names(in: directory) == ["a", "b"])
                }
            }
        }
    }

    @Test(arguments: FileSystem.all)
    func `keep everything that the file system supports`(system: FileSystem) async throws {
        try await withIO(in: system.directory) { io, directory in
            let (a, b) = (directory.appending(path: "a"), directory.appending(path: "b"))
            try makeFile(a, 100_000)
            chmod(a.path, 0o604)
            let hasAttributes = setAttribute("user.a", of: a, to: pattern(9))
            try await io.setTimes(of: a, modification: FileTime(seconds: 1_500_000_001, nanoseconds: 500_000_007))
            try await io.copy(a, to: b, options: .init(existing: .replace, keeping: .allButOwner))
            let (old, new) = (try await io.status(of: a), try await io.status(of: b))
            #expect(new?.modificationTime == old?.modificationTime && new?.permissions == old?.permissions)
            #expect(attribute("user.a", of: b) == (hasAttributes ? pattern(9) : nil))
        }
    }

    @Test(arguments: FileSystem.all)
    func `keep holes, or give the same zeros`(system: FileSystem) async throws {
        try await withIO(in: system.directory) { io, directory in
            let (a, b) = (directory.appending(path: "a"), directory.appending(path: "b"))
            try makeSparse(a, [1 << 20, 3 << 20], size: 5 << 20)
            let result = try await io.copy(a, to: b, options: .init(existing: .replace))
            #expect(result.bytes == 5 << 20 && sameFiles(a, b))
            let (old, new) = (try await io.status(of: a), try await io.status(of: b))
            if let old, let new { #expect(new.allocatedSize <= old.allocatedSize + (1 << 20)) }
        }
    }

}

extension `A full file system` {
    @Test(arguments: FileSystem.small)
    func `stays as it was when a copy does not fit`(system: FileSystem) async throws {
        try await withIO(in: system.directory) { io, directory in
            try await io.withTemporaryDirectory { other in
                let (a, b) = (other.appending(path: "a"), directory.appending(path: "b"))
                try makeFile(a, 20 << 20)
                try makeFile(b, 70)
                for durability in [Durability.none, .full] {
                    // ext4 can use the blocks of a removed file only after a commit of its journal.
                    try synchronize(directory)
                    let error = await expectFileError(.noSpace) {
                        try await io.copy(a, to: b, options: .init(durability: durability, existing: .replace))
                    }
                    #expect(error?.systemError == ENOSPC && (error?.bytesWritten ?? 0) > 1 << 20)
                    #expect(error?.subject.hasPrefix(directory.path) == true)
                    #expect(same(contents(of: b), pattern(70)))
                    #expect(names(in: directory) == ["b"])
                }
                // A copy that is within it.
                try makeFile(a, 1 << 20)
                try await io.copy(a, to: b, options: .init(existing: .replace))
                #expect(sameFiles(a, b))
                // One that fits as it is mostly a hole.
                try makeSparse(a, [], size: 20 << 20)
                try await io.copy(a, to: b, options: .init(existing: .replace))
                let status = try await io.status(of: b)
                #expect(status?.size == 20 << 20)
            }
        }
    }
}

private func synchronize(_ directory: URL) throws {
    #if os(Linux)
    let descriptor = open(directory.path, O_RDONLY | O_DIRECTORY)
    try #require(descriptor >= 0)
    defer { close(descriptor) }
    try #require(fsync(descriptor) == 0)
    #endif
}
