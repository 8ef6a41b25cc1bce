import Foundation
import SluiceFiles
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(5))) struct Links {
    @Test func `a symbolic link keeps its destination as it is written`() async throws {
        try await withIO { io, directory in
            for (index, target) in ["nowhere", "../a/./b//c", "/", "a\nb", "-rf", " ", "é", "file://x"].enumerated() {
                let link = directory.appending(path: "\(index)")
                try await io.makeSymbolicLink(at: link, to: target)
                #expect(try await io.destination(ofSymbolicLink: link) == target)
                #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link.path) == target)
            }
            let error = await expectFileError(.exists) {
                try await io.makeSymbolicLink(at: directory.appending(path: "0"), to: "other")
            }
            #expect(error?.subject == directory.appending(path: "0").path)
            await expectFileError(.notFound) {
                try await io.makeSymbolicLink(at: directory.appending(path: "x"), to: "")
            }
            await expectFileError(.invalidPath) {
                try await io.makeSymbolicLink(at: directory.appending(path: "x"), to: "a\0b")
            }
            await expectFileError(.nameTooLong) {
                try await io.makeSymbolicLink(
                    at: directory.appending(path: "x"), to: String(repeating: "x", count: 5000))
            }
        }
    }

    @Test(arguments: [1, 255, 256, 257, 1023, 1024, 1025, 4095])
    func `a destination of any length is read whole`(length: Int) async throws {
        try await withIO(in: memoryDirectory) { io, directory in
            let link = directory.appending(path: "link")
            let target = String((0..<length).map { index in Character(UnicodeScalar(UInt8(97 + index % 26))) })
            #expect(symlink(target, link.path) == 0)
            let read = try await io.destination(ofSymbolicLink: link)
            #expect(read == target)
        }
    }

    @Test func `a file that is no link, or leads to no text, is reported`() async throws {
        try await withIO { io, directory in
            let odd = directory.appending(path: "odd")
            #expect(symlink([0x61, -1, 0], odd.path) == 0)
            var error = await expectFileError(.invalidArgument) { try await io.destination(ofSymbolicLink: directory) }
            #expect(error?.remedy?.contains("symbolic link") == true)
            error = await expectFileError(.invalidPath) { try await io.destination(ofSymbolicLink: odd) }
            #expect(error?.subject == odd.path && error?.remedy != nil)
            await expectFileError(.notFound) {
                try await io.destination(ofSymbolicLink: directory.appending(path: "none"))
            }
        }
    }

    @Test func `a link that never ends ends with an error`() async throws {
        var calls = SystemCalls.system
        calls.metadata.readLink = { _, buffer in buffer.count }
        calls.metadata.resolve = { _, _ in -Int(ERANGE) }
        try await withIO(calls: calls) { io, directory in
            await expectFileError(.invalidArgument) { try await io.destination(ofSymbolicLink: directory) }
            await expectFileError(.invalidArgument) { try await io.resolve(directory) }
        }
    }

    @Test func `a second name is the same file, and takes no name that is taken`() async throws {
        try await withIO { io, directory in
            let (a, b, c) = (
                directory.appending(path: "a"), directory.appending(path: "b"), directory.appending(path: "c")
            )
            let link = directory.appending(path: "link")
            try pattern(5).write(to: a)
            try await io.makeLink(at: b, to: a)
            #expect(try await io.status(of: b)?.identity == io.status(of: a)?.identity)
            let error = await expectFileError(.exists) { try await io.makeLink(at: b, to: a) }
            #expect(error?.subject == b.path)
            #expect(error?.operation == "link '\(a.path)' as")
            try await io.makeSymbolicLink(at: link, to: "a")
            try await io.makeLink(at: c, to: link)
            #expect(try await io.status(of: c, followingLinks: false)?.kind == .file)
            try await io.remove(c)
            try await io.makeLink(at: c, to: link, followingLinks: false)
            #expect(try await io.status(of: c, followingLinks: false)?.kind == .symbolicLink)
            await expectFileError(.permissionDenied) {
                try await io.makeLink(at: directory.appending(path: "d"), to: directory)
            }
            if let memoryDirectory {
                try await FileIO.shared.withTemporaryDirectory(in: memoryDirectory) { other in
                    _ = await expectFileError(.differentFileSystems) {
                        try await io.makeLink(at: other.appending(path: "a"), to: a)
                    }
                }
            }
        }
    }

    @Test func `a path is resolved to one without links and dots`() async throws {
        try await withIO { io, directory in
            let deep = directory.appending(path: "a/b", directoryHint: .isDirectory)
            try await io.makeDirectory(at: deep)
            try await io.makeSymbolicLink(at: directory.appending(path: "link"), to: "a/b/..")
            let base = try await io.resolve(directory).path
            let found = try await io.resolve(URL(filePath: directory.path + "/./link/b"))
            #expect(found.path == base + "/a/b")
            #expect(try await io.resolve(deep).hasDirectoryPath)
            let error = await expectFileError(.notFound) { try await io.resolve(directory.appending(path: "none")) }
            #expect(error?.operation == "resolve")
            try await io.makeSymbolicLink(at: directory.appending(path: "loop"), to: "loop")
            await expectFileError(.tooManyLinks) { try await io.resolve(directory.appending(path: "loop")) }

            // Longer than the first attempts have room for.
            var long = directory
            for _ in 0..<12 { long.append(path: String(repeating: "x", count: 200)) }
            try await io.makeDirectory(at: long)
            #expect(try await io.resolve(long).path.utf8.count > 2400)

            // A directory with a name that is no text.
            #expect(mkdir(Array(directory.path.utf8CString.dropLast()) + [0x2F, -1, 0], 0o700) == 0)
            #expect(symlink([-1, 0], directory.appending(path: "odd").path) == 0)
            await expectFileError(.invalidPath) { try await io.resolve(directory.appending(path: "odd")) }
        }
    }
}
