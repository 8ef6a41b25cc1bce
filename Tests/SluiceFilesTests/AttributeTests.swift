import Foundation
import SluiceFiles
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct `Extended attributes` {
    @Test(arguments: [nil, memoryDirectory])
    func `are set, listed, read and removed`(place: URL?) async throws {
        try await withIO(in: place) { io, directory in
            let file = directory.appending(path: "file")
            try pattern(5).write(to: file)
            #expect(try await io.extendedAttributes(of: file).filter { $0.hasPrefix("user.") } == [])
            let values = [
                "user.empty": Data(), "user.a b\n": pattern(1), "user.é": pattern(255), "user.k": pattern(1000),
            ]
            for (name, value) in values { try await io.setExtendedAttribute(name, of: file, to: value) }
            let listed = try await io.extendedAttributes(of: file).filter { $0.hasPrefix("user.") }
            #expect(Set(listed) == Set(values.keys) && listed.count == values.count)
            for (name, value) in values {
                #expect(try await io.extendedAttribute(name, of: file) == value)
                #expect(attribute(name, of: file) == value)
            }
            try await io.removeExtendedAttribute("user.empty", of: file)
            #expect(try await io.extendedAttribute("user.empty", of: file) == nil)
            let error = await expectFileError(.noAttribute) {
                try await io.removeExtendedAttribute("user.empty", of: file)
            }
            #expect(error?.operation == "remove the attribute 'user.empty' of" && error?.subject == file.path)
        }
    }

    @Test func `may or must exist`() async throws {
        try await withIO { io, directory in
            let file = directory.appending(path: "file")
            try pattern(5).write(to: file)
            await expectFileError(.noAttribute) {
                try await io.setExtendedAttribute("user.a", of: file, to: pattern(1), .replace)
            }
            try await io.setExtendedAttribute("user.a", of: file, to: pattern(1), .create)
            let error = await expectFileError(.exists) {
                try await io.setExtendedAttribute("user.a", of: file, to: pattern(2), .create)
            }
            #expect(error?.operation == "set the attribute 'user.a' of")
            #expect(try await io.extendedAttribute("user.a", of: file) == pattern(1))
            try await io.setExtendedAttribute("user.a", of: file, to: pattern(3), .replace)
            try await io.setExtendedAttribute("user.a", of: file, to: pattern(4))
            #expect(try await io.extendedAttribute("user.a", of: file) == pattern(4))
        }
    }

    @Test func `of many names and long values all are given`() async throws {
        try await withIO(in: memoryDirectory) { io, directory in
            let file = directory.appending(path: "file")
            try pattern(5).write(to: file)
            let names = (0..<100).map { "user.\($0)-" + String(repeating: "x", count: 200) }
            for name in names { try await io.setExtendedAttribute(name, of: file, to: Data()) }
            #expect(try await Set(io.extendedAttributes(of: file)) == Set(names))
            for size in [255, 256, 257, 512, 513, 65_536] {
                do {
                    try await io.setExtendedAttribute("user.long", of: file, to: pattern(size))
                } catch let error as FileError where error.code == .noSpace && size == 65_536 {
                    continue  // tmpfs counts them against a limit of its own.
                }
                #expect(try await io.extendedAttribute("user.long", of: file) == pattern(size))
            }
        }
    }

    @Test func `one that grows between two calls is read whole, one that never stops is an error`() async throws {
        let size = Guarded(10)
        var calls = SystemCalls.system
        let grow: @Sendable (UnsafeMutableRawBufferPointer) -> Int = { buffer in
            // 300 bytes more for each request, up to 3,000.
            let now = size.withLock {
                $0 = min($0 + 300, 3000); return $0
            }
            if buffer.isEmpty { return now }
            if buffer.count < now { return -Int(ERANGE) }
            buffer.copyBytes(from: repeatElement(UInt8(ascii: "x"), count: now))
            return now
        }
        calls.metadata.attribute = { _, _, buffer in grow(buffer) }
        calls.metadata.listAttributes = { _, buffer in grow(buffer) }
        try await withIO(calls: calls) { io, directory in
            let value = try await io.extendedAttribute("user.a", of: directory)
            #expect(value?.count == 3000)
            size.withLock { $0 = 10 }
            #expect(try await io.extendedAttributes(of: directory) == [String(repeating: "x", count: 3000)])
        }
        calls.metadata.attribute = { _, _, buffer in buffer.isEmpty ? 1 : -Int(ERANGE) }
        try await withIO(calls: calls) { io, directory in
            await expectFileError(.invalidArgument) { try await io.extendedAttribute("user.a", of: directory) }
        }
    }

    @Test func `names without a namespace, too long and empty ones are told from full disks`() async throws {
        try await withIO { io, directory in
            let file = directory.appending(path: "file")
            try pattern(5).write(to: file)
            var error = await expectFileError(.unsupported) {
                try await io.setExtendedAttribute("digest", of: file, to: Data())
            }
            #expect(error?.remedy?.contains("user.") == true)
            error = await expectFileError(.nameTooLong) {
                try await io.setExtendedAttribute("user." + String(repeating: "x", count: 251), of: file, to: Data())
            }
            error = await expectFileError(.invalidArgument) { try await io.extendedAttribute("", of: file) }
            error = await expectFileError(.invalidArgument) { try await io.extendedAttribute("user.a\0b", of: file) }
            // ext4 says ENOSPC, the kernel E2BIG past 64 KiB.
            error = await expectFileError(.fileTooLarge) {
                try await io.setExtendedAttribute("user.a", of: file, to: Data(count: 65_537))
            }
            await expectFileError(.notFound) { try await io.extendedAttributes(of: directory.appending(path: "none")) }
        }
        for number in [ENOTSUP, EOPNOTSUPP] {
            let calls = SystemCalls.system.intercepted {
                [.metadataListAttributes, .metadataAttribute, .metadataRemoveAttribute].contains($0) ? number : nil
            }
            try await withIO(calls: calls) { io, directory in
                await expectFileError(.unsupported) { try await io.extendedAttributes(of: directory) }
                await expectFileError(.unsupported) { try await io.extendedAttribute("user.a", of: directory) }
                let error = await expectFileError(.unsupported) {
                    try await io.removeExtendedAttribute("user.a", of: directory)
                }
                #expect(error?.remedy?.contains("user.") == true)
            }
        }
    }

    @Test func `of a link are not those of its file`() async throws {
        try await withIO { io, directory in
            let (file, link) = (directory.appending(path: "file"), directory.appending(path: "link"))
            try pattern(5).write(to: file)
            try await io.makeSymbolicLink(at: link, to: "file")
            try await io.setExtendedAttribute("user.a", of: link, to: pattern(1))
            #expect(attribute("user.a", of: file) == pattern(1))
            #expect(try await io.extendedAttribute("user.a", of: link) == pattern(1))
            await expectFileError(.permissionDenied) {
                try await io.setExtendedAttribute("user.a", of: link, to: pattern(1), followingLinks: false)
            }
            #expect(try await !io.extendedAttributes(of: link, followingLinks: false).contains("user.a"))
            if getuid() == 0 {
                try await io.setExtendedAttribute("trusted.a", of: link, to: pattern(2), followingLinks: false)
                #expect(try await io.extendedAttribute("trusted.a", of: link, followingLinks: false) == pattern(2))
                #expect(try await io.extendedAttribute("trusted.a", of: link) == nil)
                try await io.removeExtendedAttribute("trusted.a", of: link, followingLinks: false)
            }
        }
    }
}
