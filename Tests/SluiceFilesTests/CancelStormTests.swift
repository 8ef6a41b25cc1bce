import Foundation
import SluiceFiles
import TestSupport
import Testing

/// Thousands of tasks over all kinds of operations, each cancelled at a moment that the seed chooses.
@Suite(.timeLimit(.minutes(5))) struct `A storm of cancellations` {
    /// What a task does to files that only it and those of its kind touch.
    enum Work: Int, CaseIterable, Sendable {
        case read, replace, replaceNamed, create, stream, append, chunks, publish, discard, rename, makeAndRemoveTree
        case temporaryDirectory, checkpoint, fifo
    }

    @Test(arguments: [1, 2, 3] as [UInt64])
    func `leaves nothing open or waiting, and every file whole`(seed: UInt64) async throws {
        try await withIO(concurrency: 3, in: memoryDirectory) { io, directory in
            let whole = directory.appending(path: "whole")
            try pattern(5000).write(to: whole)
            try pattern(5000).write(to: directory.appending(path: "replaced"))
            try pattern(5000).write(to: directory.appending(path: "named"))
            var ended: [String] = []
            // In waves: many of the tasks have a file open.
            for wave in 0..<10 {
                ended += await withTaskGroup(of: String?.self) { group in
                    for index in (wave * 200)..<(wave * 200 + 200) {
                        group.addTask {
                            var random = SeededRandom(seed: seed &* 1_000_003 &+ UInt64(index))
                            let work = Work.allCases.randomElement(using: &random)!
                            let delay = Int.random(in: 0...60, using: &random)
                            let task = Task { try await Self.perform(work, index, io, directory) }
                            await suspend(times: delay)
                            task.cancel()
                            switch await task.result {
                            case .success: return nil
                            case .failure(let error as FileError) where error.code == .locked && work == .replaceNamed:
                                return nil
                            case .failure(let error): return error is CancellationError ? nil : "\(work): \(error)"
                            }
                        }
                    }
                    return await group.reduce(into: [String]()) { complaints, complaint in
                        if let complaint { complaints.append(complaint) }
                    }
                }
            }
            #expect(ended == [], "\(ended.count) ended in another way")

            for name in ["whole", "replaced", "named"] {
                #expect(same(contents(of: directory.appending(path: name)), pattern(5000)), "\(name)")
            }
            // Streams that were dropped, and temporary files, go with the last jobs.
            await io.shutdown()
            for name in names(in: directory) {
                #expect(!name.hasPrefix(".sluice-"), "\(name)")
                #expect(!name.hasPrefix("temporary-"), "\(name)")
                #expect(name != "named.part", "\(name)")
                if name.hasPrefix("created-") || name.hasPrefix("published-") {
                    #expect(same(contents(of: directory.appending(path: name)), pattern(3000)), "\(name)")
                }
                if name.hasPrefix("discarded-") { Issue.record("\(name)") }
            }
        }
    }

    private static func perform(_ work: Work, _ index: Int, _ io: FileIO, _ directory: URL) async throws {
        func own(_ prefix: String) -> URL { directory.appending(path: "\(prefix)-\(index)") }
        let whole = directory.appending(path: "whole")
        switch work {
        case .read: try expectSame(await Data(asyncContentsOf: whole, using: io), pattern(5000))
        case .replace:
            try await pattern(5000).asyncWrite(
                to: directory.appending(path: "replaced"), options: .init(durability: .data), using: io)
        case .replaceNamed:
            try await pattern(5000).asyncWrite(
                to: directory.appending(path: "named"), options: .init(temporaryName: "named.part"), using: io)
        case .create:
            try await pattern(3000).asyncWrite(to: own("created"), options: .init(existing: .fail), using: io)
        case .stream:
            let data = try await whole.withFileForReading(using: io) { stream in
                try await stream.read(upToCount: 10) + stream.readToEnd()
            }
            try expectSame(data, pattern(5000))
        case .append:
            try await own("appended").withFileForWriting(existing: .append, locked: true, using: io) { stream in
                for _ in 0..<5 { try await stream.write(pattern(100)) }
                try await stream.sync(.data)
            }
        case .chunks:
            var count = 0
            for try await chunk in whole.chunks(of: 700, using: io) {
                count += chunk.count
                if index % 2 == 0 && count > 2000 { break }
            }
        case .publish, .discard:
            let name = work == .publish ? "part" : "discarded"
            let part = try await own(name).openForWriting(locked: true, using: io)
            do {
                try await part.write(pattern(3000))
            } catch {
                try? await part.discard()
                throw error
            }
            if work == .discard { return try await part.discard() }
            try await part.publish(as: own("published"), existing: .fail, removingOnFailure: true)
        case .rename:
            try await pattern(100).asyncWrite(to: own("a"), options: .init(durability: .none), using: io)
            try await io.rename(own("a"), to: own("b"), existing: .fail)
            try await io.remove(own("b"))
        case .makeAndRemoveTree:
            try await io.makeDirectory(at: own("tree").appending(path: "x/y"))
            try await io.removeTree(own("tree"))
        case .temporaryDirectory:
            try await io.withTemporaryDirectory(prefix: "temporary", in: directory) { temporary in
                try await pattern(10).asyncWrite(to: temporary.appending(path: "x"), using: io)
            }
        case .checkpoint:
            let places = CheckpointedFile.Places(
                file: own("song"), checkpoint: own("song-check"), temporary: own("song-new"))
            guard let opened = try await CheckpointedFile.openLocked(places, mode: .always, using: io) else { return }
            let result = await Result { _ = try await opened.file.append([pattern(100)]) }
            await opened.file.discard()
            try result.get()
        case .fifo:
            let fifo = own("fifo")
            guard mkfifo(fifo.path, 0o600) == 0 else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
            let descriptor = open(fifo.path, O_RDWR | O_NONBLOCK | O_CLOEXEC)
            defer { close(descriptor) }
            try await io.write(pattern(1000), descriptor: descriptor, name: "fifo")
        }
    }
}

extension Result where Failure == any Error {
    fileprivate init(_ body: () async throws -> Success) async {
        do { self = .success(try await body()) } catch { self = .failure(error) }
    }
}
