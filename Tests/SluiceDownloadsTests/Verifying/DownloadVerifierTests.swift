import Foundation
import LoopbackOrigin
import SluiceFiles
import SluiceHTTP
import TestSupport
import Testing

@testable import SluiceDownloads

@Suite(.timeLimit(.minutes(15))) struct `Verifying files` {
    private static func digits(_ text: String, _ algorithm: Checksum.Algorithm = .sha256) -> String {
        let running = RunningChecksum(algorithm)
        running.update(Data(text.utf8))
        return running.finish().bytes.hexadecimal
    }

    /// A directory whose files have these texts.
    private struct Place: Sendable {
        let root: URL

        static func with(
            _ files: [String: String], _ body: @escaping @Sendable (Place) async throws -> Void
        ) async throws {
            try await FileIO.shared.withTemporaryDirectory(prefix: "sluice-tests") { directory in
                let place = Place(root: directory.appending(path: "files", directoryHint: .isDirectory))
                try FileManager.default.createDirectory(at: place.root, withIntermediateDirectories: true)
                for (name, text) in files { try place.write(text, to: name) }
                try await body(place)
            }
        }

        func write(_ text: String, to name: String) throws {
            let file = root.appending(path: name)
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Data(text.utf8).write(to: file)
        }

        /// Returns the findings in order, such as `sub/a changed list`.
        func findings(
            _ names: [String] = [""], lists: [String] = [], records: DownloadRecords? = nil
        ) async throws -> [String] {
            let verifier = DownloadVerifier(records: records, checksums: try lists.map { try ChecksumList($0) })
            let lines = Recorder<String>()
            let places = names.map { root.appending(path: $0) }
            let summary = try await verifier.verify(places) { finding in
                let path = finding.file.path(percentEncoded: false).replacing(
                    root.path(percentEncoded: false), with: "")
                let outcome =
                    switch finding.outcome {
                    case .intact: "intact"
                    case .changed: "changed"
                    case .missing: "missing"
                    case .unknown: "unknown"
                    case .failed(let error): "failed \(error.code)"
                    }
                lines.note("\(path) \(outcome)" + (finding.evidence.map { " \($0)" } ?? ""))
            }
            let found = lines.values
            let count = summary.intact + summary.changed + summary.missing + summary.unknown + summary.failed
            #expect(count == found.count)
            return found
        }
    }

    // MARK: Lists

    @Test(arguments: ["SHA256SUMS", "sha512sum.txt", "Sha256Sums.TXT"])
    func `a list in the directory is found, and its files are relative to it`(name: String) async throws {
        let algorithm: Checksum.Algorithm = name.contains("512") ? .sha512 : .sha256
        let list = """
            \(Self.digits("1", algorithm))  a
            \(Self.digits("2", algorithm)) *./sub/b
            \(Self.digits("other", algorithm))  c
            \(Self.digits("4", algorithm))  gone
            \(Self.digits("5", algorithm))  .hidden/e

            """
        try await Place.with([
            "x/a": "1", "x/sub/b": "2", "x/c": "3", "x/.hidden/e": "5", "x/.hidden/f": "6", "x/\(name)": list, "a": "9",
        ]) { place in
            let found = try await place.findings()
            #expect(
                found == [
                    "a unknown", "x/.hidden/e intact checksumList", "x/a intact checksumList",
                    "x/c changed checksumList", "x/sub/b intact checksumList", "x/gone missing",
                ])
            // The other files of the list don't matter if one is named.
            let one = try await place.findings(["x/a"])
            #expect(one == ["x/a intact checksumList"])
        }
    }

    @Test func `a given list is relative to each directory, or names files in any subdirectory`() async throws {
        let list = "\(Self.digits("1"))  a\n\(Self.digits("2"))  sub/b\n\(Self.digits("3"))  gone\n"
        try await Place.with(["x/a": "1", "x/sub/b": "2", "y/z/a": "not 1", "y/b": "?"]) { place in
            let found = try await place.findings(["x/", "y/"], lists: [list])
            #expect(
                found == [
                    "x/a intact checksumList", "x/sub/b intact checksumList", "y/b unknown",
                    "y/z/a changed checksumList", "x/gone missing",
                ])
            let named = try await place.findings(["x/a", "none"], lists: [list])
            #expect(named == ["x/a intact checksumList", "none missing"])
        }
    }

    @Test func `the innermost list counts`() async throws {
        try await Place.with([
            "SHA256SUMS": "\(Self.digits("old"))  sub/a\n", "sub/a": "new",
            "sub/SHA256SUMS": "\(Self.digits("new"))  a\n",
        ]) { place in
            // The file isn't missing from the outer list.
            let found = try await place.findings()
            #expect(found == ["sub/a intact checksumList"])
        }
    }

    @Test func `names that lead out of the directory are missing, and nothing there is read`() async throws {
        try await Place.with(["secret": "1"]) { place in
            let outside = place.root.appending(path: "secret").path
            try place.write(
                "\(Self.digits("1"))  ../secret\n\(Self.digits("1"))  \(outside)\n\(Self.digits("1"))  link/secret\n",
                to: "x/SHA256SUMS")
            try FileManager.default.createSymbolicLink(
                at: place.root.appending(path: "x/link"), withDestinationURL: place.root)
            let found = try await place.findings(["x/"])
            #expect(found.count == 3 && found.allSatisfy { $0.hasSuffix(" missing") }, "\(found)")
        }
    }

    @Test func `links and FIFOs that a list names are followed, and not waited for`() async throws {
        try await Place.with([
            "target": "1", "x/SHA256SUMS": "\(Self.digits("1"))  link\n\(Self.digits("1"))  pipe\n",
        ]) { place in
            try FileManager.default.createSymbolicLink(
                at: place.root.appending(path: "x/link"), withDestinationURL: place.root.appending(path: "target"))
            #expect(mkfifo(place.root.appending(path: "x/pipe").path, 0o600) == 0)
            #expect(mkfifo(place.root.appending(path: "x/other").path, 0o600) == 0)
            let found = try await place.findings(["x/"])
            #expect(found == ["x/link intact checksumList", "x/pipe changed checksumList"])
            let fifo = try await place.findings(["x/other"])
            #expect(fifo == ["x/other failed notRegularFile"])
        }
    }

    @Test(arguments: ["no checksum\n", "\u{FF}", "fifo"])
    func `a list that can't be read is a finding`(list: String) async throws {
        try await Place.with(["a": "1"]) { place in
            let file = place.root.appending(path: "SHA256SUMS")
            if list == "fifo" {
                #expect(mkfifo(file.path, 0o600) == 0)
            } else {
                try Data(list == "\u{FF}" ? [0xFF] : Array(list.utf8)).write(to: file)
            }
            let found = try await place.findings()
            #expect(found == ["SHA256SUMS failed invalidArgument", "a unknown"])
        }
    }

    // MARK: Attributes and records

    @Test func `the checksum in an attribute is compared with the bytes`() async throws {
        try await Place.with(["a": "1", "b": "2", "c": "3", "d": "4"]) { place in
            for (name, value) in [
                ("a", "sha256:\(Self.digits("1"))"), ("b", "sha512:\(Self.digits("other", .sha512))"), ("c", "md5:00"),
            ] {
                try await FileIO.shared.setExtendedAttribute(
                    "user.sluice.digest", of: place.root.appending(path: name), to: Data(value.utf8))
            }
            let expected = ["a intact attribute", "b changed attribute", "c unknown", "d unknown"]
            let found = try await place.findings()
            #expect(found == expected)
            // A list is better evidence.
            let list = "\(Self.digits("2"))  b\n"
            let listed = try await place.findings(["b"], lists: [list])
            #expect(listed == ["b intact checksumList"])
        }
    }

    enum Change: CaseIterable {
        case none, size, content, time, replaced, link
    }

    @Test(arguments: Change.allCases) func `a record tells whether the file was changed`(change: Change) async throws {
        try await `Records of completed files`.Scene.with { scene in
            let request = try scene.request("/1000")
            try await scene.run([request])
            let file = request.target
            switch change {
            case .none: break
            case .size: try Data([1]).write(to: file)
            case .content:
                try await FileIO.shared.setTimes(of: file, modification: FileTime(seconds: 1))
                try Data(bytes(1000, seed: 1)).write(to: file)
            case .time: try await FileIO.shared.setTimes(of: file, modification: FileTime(seconds: 1))
            case .replaced:
                try Data(bytes(1000)).write(to: scene.target.appending(path: "new"))
                _ = rename(scene.target.appending(path: "new").path, file.path)
            case .link:
                let moved = scene.target.appending(path: "moved")
                try FileManager.default.moveItem(at: file, to: moved)
                try FileManager.default.createSymbolicLink(at: file, withDestinationURL: moved)
            }
            let finding = Guarded<DownloadVerifier.Finding?>(nil)
            let summary = try await DownloadVerifier(records: scene.records()).verify([file]) { found in
                finding.withLock { $0 = found }
            }
            let found = try #require(finding.withLock { $0 })
            #expect(found.evidence == .record && found.comparedBytes == 0)
            #expect(summary.intact == (change == .none ? 1 : 0) && summary.changed == (change == .none ? 0 : 1))
            // Without records, nothing is known.
            #expect(try await DownloadVerifier().verify([file]).unknown == 1)
        }
    }

    @Test func `a file whose bytes are right is intact, even if its record says that it was replaced`() async throws {
        try await `Records of completed files`.Scene.with { scene in
            var scene = scene
            scene.downloader.configuration.storesOrigins = true
            let request = try scene.request("/1000")
            try await scene.run([request])
            let copy = scene.target.appending(path: "copy")
            try await FileIO.shared.copy(
                request.target, to: copy, options: .init(attributes: .extendedAttributes))
            _ = rename(copy.path, request.target.path)
            #expect(try await DownloadVerifier(records: scene.records()).verify([scene.target]).intact == 1)
        }
    }

    // MARK: The search

    @Test func `partial files are skipped`() async throws {
        try await Place.with(["a.sluice.part": "1", "a.sluice.json": "2", ".sluice-1f": "3", "b": "4"]) { place in
            let found = try await place.findings()
            #expect(found == ["b unknown"])
        }
    }

    @Test func `what can't be read is a finding, and the others are checked`() async throws {
        try await Place.with([
            "a/b": "1", "c": "2", "d": "3", "SHA256SUMS": "\(Self.digits("2"))  c\n\(Self.digits("3"))  d\n",
        ]) { place in
            var calls = SystemCalls.system
            let open = calls.open
            calls.open = { path, flags, mode in
                let name = String(cString: path)
                return ["/a", "/a/", "/c"].contains(where: name.hasSuffix) ? -EIO : open(path, flags, mode)
            }
            let files = FileIO(configuration: .init(lanes: [.pool]), calls: calls)
            let lines = Recorder<String>()
            let summary = try await DownloadVerifier(using: files).verify([place.root]) { finding in
                if case .failed(let error) = finding.outcome {
                    lines.note("\(finding.file.lastPathComponent) \(error.code)")
                }
            }
            #expect(lines.values == ["a inputOutput", "c inputOutput"] && summary.failed == 2 && summary.intact == 1)
            await files.shutdown()
        }
    }

    @Test func `places that aren't files are findings`() async throws {
        let lines = Recorder<String>()
        let places = [URL(string: "https://example.com/a")!, URL(filePath: "/dev/null"), URL(filePath: "/none/such")]
        let summary = try await DownloadVerifier().verify(places) { finding in
            lines.note("\(finding.outcome)".prefix { $0 != "(" }.description)
        }
        #expect(lines.values == ["failed", "failed", "missing"])
        #expect(summary.failed == 2 && summary.missing == 1)
    }

    @Test func `many files are checked in order, with bounded memory`() async throws {
        var files: [String: String] = [:]
        for index in 0..<300 { files["d\(index % 7)/f\(index)"] = "\(index)" }
        let list = files.map { "\(Self.digits($0.value))  \($0.key)" }.joined(separator: "\n")
        try await Place.with(files.merging(["SHA256SUMS": list]) { $1 }) { place in
            let found = try await place.findings()
            #expect(found.count == 300 && found.allSatisfy { $0.hasSuffix(" intact checksumList") })
            #expect(found == found.sorted())
        }
    }

    @Test func `an error of the caller ends the verification`() async throws {
        struct Stop: Error {}
        try await Place.with(["a": "1", "b": "2", "c": "3"]) { place in
            let count = Guarded(0)
            await #expect(throws: Stop.self) {
                try await DownloadVerifier().verify([place.root]) { _ in
                    count.withLock { $0 += 1 }
                    throw Stop()
                }
            }
            #expect(count.withLock { $0 } == 1)
        }
    }

    @Test func `cancellation ends the verification`() async throws {
        try await Place.with(["a": "1", "b": "2"]) { place in
            let root = place.root
            let task = Task {
                try await DownloadVerifier().verify([root]) { _ in withUnsafeCurrentTask { $0?.cancel() } }
            }
            await #expect(throws: CancellationError.self) { try await task.value }
        }
    }
}
