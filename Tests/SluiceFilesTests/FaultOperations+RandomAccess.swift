import Foundation
import SluiceFiles

extension FaultedOperation {
    // MARK: Random access and positions

    static let randomAccess: [Self] = [
        Self("read at offsets", old()) { io, directory in
            try await directory.appending(path: "file").withRandomAccessFile(using: io) { file in
                try await file.advise(.random)
                try expectSame(await file.read(at: 100, upToCount: 100), pattern(300)[100..<200])
                try expectSame(await file.read(at: 250, upToCount: 1 << 20), pattern(300)[250...])
                var memory = [UInt8](repeating: 0, count: 300)
                var span = memory.mutableSpan
                var bytes = span.mutableBytes
                if try await file.read(at: 0, into: &bytes) != 300 { throw WrongResult("too few bytes") }
                try expectSame(Data(memory), pattern(300))
            }
            // EWOULDBLOCK is a lease that is given back.
        }.believing(.open, EWOULDBLOCK),
        Self("read at offsets without RWF_NOWAIT", old()) { io, directory in
            try await directory.appending(path: "file").withRandomAccessFile(using: io) { file in
                try expectSame(await file.read(at: 100, upToCount: 300), pattern(300)[100...])
            }
        }.denying([.inlineRead: EOPNOTSUPP]).believing(.open, EWOULDBLOCK),
        Self("write at offsets", old()) { io, directory in
            let url = directory.appending(path: "file")
            try await url.withRandomAccessFile(.readWrite, using: io) { file in
                try await file.preallocate(0..<5000)
                try await file.write(pattern(700), at: 1000)
                try await file.punchHole(1100..<1200)
                try await file.truncate(to: 1500)
                try await file.sync(.fullAndDirectory)
                if try await file.size != 1500 { throw WrongResult("another size") }
            }
            let written = pattern(100) + Data(count: 100) + pattern(700)[200..<500]
            try expectSame(contents(of: url), pattern(300) + Data(count: 700) + written)
        }
        .checking { directory, _ in
            contents(of: directory.appending(path: "file")).starts(with: pattern(300)) ? nil : "what was there is gone"
        }
        // The directory, which was only read.
        .ignoring(.close, at: 0).believing(.open, EWOULDBLOCK),
        Self("create for random access") { io, directory in
            let url = directory.appending(path: "file")
            try await url.withRandomAccessFile(.createNew, using: io) { file in
                try await file.write(pattern(700), at: 0)
            }
            try expectSame(contents(of: url), pattern(700))
        }.believing(.open, EWOULDBLOCK),
        Self("seek in streams", old()) { io, directory in
            let url = directory.appending(path: "file")
            try await url.withFileForReading(using: io) { stream in
                try await stream.seek(to: 200)
                try expectSame(await stream.readToEnd(), pattern(300)[200...])
                if try await stream.position != 300 { throw WrongResult("another position") }
            }
            try await url.withFileForWriting(using: io) { stream in
                try await stream.preallocate(upTo: 1000)
                try await stream.seek(to: 5)
                try await stream.write(pattern(5))
            }
            try expectSame(contents(of: url), Data(count: 5) + pattern(5))
        },
        Self("map a file", old()) { io, directory in
            try await directory.appending(path: "file").withMappedFile(using: io) { file in
                try await file.advise(.random)
                try await file.prefetch()
                try expectSame(file.bytes.withUnsafeBytes { Data($0) }, pattern(300))
            }
            // If the pages are not available immediately, they are touched.
        }.believing(.open, EWOULDBLOCK).believing(.populate, EINVAL, ENOSYS).ignoring(.close).ignoring(.unmap),
        Self("map a file and touch it", old()) { io, directory in
            try await directory.appending(path: "file").withMappedFile(using: io) { try await $0.prefetch() }
        }.denying([.populate: EINVAL]).believing(.open, EWOULDBLOCK).believing(.populate, EINVAL, ENOSYS).ignoring(
            .close
        ).ignoring(.unmap),
        Self("map an empty file", old("other")) { io, directory in
            try Data().write(to: directory.appending(path: "file"))
            try await directory.appending(path: "file").withMappedFile(using: io) { file in
                if file.count != 0 { throw WrongResult("has bytes") }
            }
        }.believing(.open, EWOULDBLOCK).ignoring(.close),
    ]
}
