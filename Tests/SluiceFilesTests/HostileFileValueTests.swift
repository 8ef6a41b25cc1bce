import Foundation
import SluiceConcurrency
import SluiceFiles
import TestSupport
import Testing

@Suite struct `Hostile values for SluiceFiles` {
    @Test func `no call traps`() async throws {
        let log = FileManager.default.temporaryDirectory.appending(path: "sluice-hostile-files-\(UUID().uuidString)")
            .path
        defer { try? FileManager.default.removeItem(atPath: log) }
        await #expect(processExitsWith: .success) { [log = log as String] in
            await HostileCall.run(`Hostile values for SluiceFiles`.calls, rounds: 100, log: log)
        }
        let last = try String(contentsOfFile: log, encoding: .utf8)
        #expect(last == "finished", "\(last) trapped. The seed was \(HostileCall.seed).")
    }

    @Test(arguments: traps.indices)
    func `a programming error traps`(index: Int) async {
        await #expect(processExitsWith: .failure, "\(Self.traps[index].reason)") { [index] in
            try await `Hostile values for SluiceFiles`.traps[index].body()
        }
    }

    @Test func `every function that takes hostile values is called`() throws {
        let (missing, unknown) = try HostileCall.uncovered("SluiceFiles", Self.calls.map(\.name))
        #expect(missing.isEmpty && unknown.isEmpty)
    }

    /// The documented preconditions.
    static let traps: [(reason: String, body: @Sendable () async throws -> Void)] = [
        ("an engine has at least one thread", { _ = FileIO.Configuration(concurrency: 0) }),
        ("a time has nanoseconds below a second", { _ = FileTime(seconds: 0, nanoseconds: 1_000_000_000) }),
        ("a chunk has at least one byte", { _ = URL(filePath: "/").chunks(of: 0) }),
        ("no negative number of chunks is read ahead", { _ = URL(filePath: "/").chunks(readAhead: -1) }),
        ("a maximum size isn't negative", { _ = try await Data(asyncContentsOf: URL(filePath: "/"), maximumSize: -1) }),
        (
            "a maximum count isn't negative",
            { _ = try await FileIO.shared.entries(of: URL(filePath: "/"), maximumCount: -1) }
        ),
        (
            "a range is within the mapped file",
            {
                try await Place.with { place in
                    let map = try await MappedFile(contentsOf: place.file)
                    try await map.prefetch(0..<1000)
                    try await map.close()
                }
            }
        ),
        (
            "an offset isn't negative",
            {
                try await Place.with { place in
                    try await place.file.withRandomAccessFile { _ = try await $0.read(at: -1, upToCount: 1) }
                }
            }
        ),
    ]

    /// A directory with a file, a directory, a symbolic link and a broken one.
    struct Place: Sendable {
        let directory: URL
        var file: URL { directory.appending(path: "file") }

        static func with(_ body: (Place) async throws -> Void) async throws {
            let directory = FileManager.default.temporaryDirectory.appending(
                path: "sluice-hostile-\(UUID().uuidString)")
            defer { try? FileManager.default.removeItem(at: directory) }
            let files = FileManager.default
            try files.createDirectory(
                at: directory.appending(path: "directory/inner"), withIntermediateDirectories: true)
            try Data("one\r\ntwo\n".utf8).write(to: directory.appending(path: "file"))
            try files.createSymbolicLink(atPath: directory.appending(path: "link").path, withDestinationPath: "file")
            try files.createSymbolicLink(atPath: directory.appending(path: "broken").path, withDestinationPath: "none")
            try await body(Place(directory: directory))
        }

        /// A file URL in the directory, whatever the name, or a URL that isn't a file URL. Calls that change files may use it.
        func url(_ values: inout HostileValues) -> URL {
            let name = values.text().replacing("/", with: "").replacing("\\", with: "")
            let existing = ["file", "directory", "link", "broken", "directory/inner", "file/below"]
            return values.one(of: [
                directory.appending(path: name == ".." || name == "." ? "dots" : name),
                directory.appending(path: values.one(of: existing)),
                directory.appending(path: values.one(of: existing)),
                URL(string: "https://example.com/file")!,
            ])
        }
    }

    /// A call that may change files, in a new directory.
    private static func inPlace(
        _ name: String, _ body: @escaping @Sendable (Place, inout HostileValues) async throws -> Void
    ) -> HostileCall {
        HostileCall(name) { values in
            var inner = values
            defer { values = inner }
            try await Place.with { try await body($0, &inner) }
        }
    }

    private static func reading(
        _ name: String,
        _ body: @escaping @Sendable (borrowing AsyncFileStream<ReadMode>, inout HostileValues) async throws -> Void
    ) -> HostileCall {
        inPlace(name) { place, values in
            var inner = values
            defer { values = inner }
            try await place.file.withFileForReading { try await body($0, &inner) }
        }
    }

    private static func writing(
        _ name: String,
        _ body: @escaping @Sendable (borrowing AsyncFileStream<WriteMode>, inout HostileValues) async throws -> Void
    ) -> HostileCall {
        inPlace(name) { place, values in
            var inner = values
            defer { values = inner }
            try await place.file.withFileForWriting { try await body($0, &inner) }
        }
    }

    private static func randomly(
        _ name: String, _ body: @escaping @Sendable (RandomAccessFile, inout HostileValues) async throws -> Void
    ) -> HostileCall {
        inPlace(name) { place, values in
            var inner = values
            defer { values = inner }
            try await place.file.withRandomAccessFile(.readWrite) { try await body($0, &inner) }
        }
    }

    private static func options(_ values: inout HostileValues) -> FileWriteOptions {
        FileWriteOptions(
            durability: .none, existing: values.one(of: [.fail, .replace, .skip]),
            temporaryName: values.one(of: [nil, values.text()]),
            permissions: FilePermissions(rawValue: UInt32(truncatingIfNeeded: values.int())))
    }

    /// At most 1 MiB, for which the disk has room, or a size that no file system supports.
    private static func offset(_ values: inout HostileValues) -> Int64 {
        let number = max(0, values.int64())
        return number > 1 << 20 ? .max - number % 2 : number
    }

    static let calls: [HostileCall] =
        streams + randomAccess + maps + wholeFiles + directories + metadata + descriptors + values

    // MARK: Streams

    private static let streams: [HostileCall] = [
        inPlace("AsyncFileStream.chunks(of:readAhead:)") { place, values in
            let (size, readAhead) = (values.int(from: 1), values.int(from: 0))
            for try await _ in try await place.file.openForReading().chunks(of: size, readAhead: readAhead) {}
        },
        inPlace("URL.chunks(of:readAhead:using:)") { place, values in
            let (size, readAhead) = (values.int(from: 1), values.int(from: 0))
            for try await _ in place.url(&values).chunks(of: size, readAhead: readAhead) {}
        },
        inPlace("AsyncSequence.lines(endingWith:invalidUTF8:maximumLength:)") { place, values in
            try Data(values.bytes()).write(to: place.file)
            let lines = place.file.chunks(of: 3).lines(
                endingWith: values.one(of: [.newline, .newlineOrReturn]),
                invalidUTF8: values.one(of: [.refused, .repaired]), maximumLength: values.int(from: 1))
            for try await _ in lines {}
        },
        writing("AsyncFileStream.preallocate(upTo:)") { try await $0.preallocate(upTo: offset(&$1)) },
        inPlace("AsyncFileStream.publish(as:existing:durability:removesOnFailure:)") { place, values in
            let stream = try await place.directory.appending(path: "new").openForWriting()
            try await stream.publish(
                as: place.url(&values), existing: values.one(of: [.fail, .replace, .skip]), durability: .none,
                removesOnFailure: values.one(of: [true, false]))
        },
        reading("AsyncFileStream.read(upToCount:)") { _ = try await $0.read(upToCount: $1.int(from: 0)) },
        reading("AsyncFileStream.readToEnd(maximumSize:)") { _ = try await $0.readToEnd(maximumSize: $1.int(from: 0)) },
        reading("AsyncFileStream.seek(to:)") { stream, values in
            try await stream.seek(to: max(0, values.int64()))
            _ = try await stream.read(upToCount: values.int(from: 0))
        },
        writing("AsyncFileStream.truncate(to:)") { try await $0.truncate(to: max(0, $1.int64())) },
        writing("AsyncFileStream.write(_:)") { stream, values in
            try await stream.write(Data(values.bytes()))
            try await stream.write([Data(values.bytes()), Data(), Data(values.bytes())])
        },
    ]

    // MARK: Random access

    private static let randomAccess: [HostileCall] = [
        randomly("RandomAccessFile.advise(_:for:)") { file, values in
            try await file.advise(values.one(of: AccessAdvice.allCases), for: values.one(of: [nil, values.offsets()]))
        },
        randomly("RandomAccessFile.preallocate(_:keepsSize:)") { file, values in
            try await file.preallocate(values.offsets(), keepsSize: values.one(of: [true, false]))
        },
        randomly("RandomAccessFile.punchHole(_:)") { try await $0.punchHole($1.offsets()) },
        randomly("RandomAccessFile.read(at:upToCount:)") { file, values in
            _ = try await file.read(at: max(0, values.int64()), upToCount: values.int(from: 0))
        },
        randomly("RandomAccessFile.read(at:into:)") { file, values in
            let offset = max(0, values.int64())
            var bytes = [UInt8](repeating: 0, count: 16)
            var span = bytes.mutableSpan
            var raw = span.mutableBytes
            _ = try await file.read(at: offset, into: &raw)
        },
        randomly("RandomAccessFile.truncate(to:)") { try await $0.truncate(to: max(0, $1.int64())) },
        randomly("RandomAccessFile.write(_:at:)") { file, values in
            try await file.write(Data(values.bytes()), at: max(0, values.int64()))
            let bytes = values.bytes()
            try await file.write(bytes.span.bytes, at: max(0, values.int64()))
        },
    ]

    // MARK: Maps

    private static let maps: [HostileCall] = [
        inPlace("MappedFile.init(contentsOf:using:)") { place, values in
            try await MappedFile(contentsOf: place.url(&values)).close()
        },
        inPlace("MappedFile.advise(_:for:)") { place, values in
            let map = try await MappedFile(contentsOf: place.file)
            let range = values.range().clamped(to: 0..<map.count)
            try await map.advise(values.one(of: AccessAdvice.allCases), for: values.one(of: [nil, range]))
            try await map.close()
        },
        inPlace("MappedFile.prefetch(_:)") { place, values in
            let map = try await MappedFile(contentsOf: place.file)
            try await map.prefetch(values.range().clamped(to: 0..<map.count))
            try await map.close()
        },
    ]

    // MARK: Whole files

    private static let wholeFiles: [HostileCall] = [
        inPlace("Data.asyncWrite(to:options:using:progress:)") { place, values in
            try await Data(values.bytes()).asyncWrite(to: place.url(&values), options: options(&values))
        },
        inPlace("Data.init(asyncContentsOf:options:maximumSize:using:progress:)") { place, values in
            let options = FileReadOptions(rawValue: values.int())
            _ = try await Data(
                asyncContentsOf: values.one(of: [place.url(&values), values.url()]), options: options,
                maximumSize: min(1 << 20, values.int(from: 0)))
        },
        inPlace("URL.withFileLock(_:timeout:permissions:using:_:)") { place, values in
            let (url, timeout) = (place.url(&values), values.duration())
            let permissions = FilePermissions(rawValue: UInt32(truncatingIfNeeded: values.int()))
            let first = Task {
                try await url.withFileLock(timeout: timeout, permissions: permissions) { await Task.yield() }
            }
            // Either may wait for the other. The first is cancelled, because its timeout may be centuries.
            try? await url.withFileLock(timeout: timeout) {}
            first.cancel()
            _ = await first.result
        },
        inPlace("URL.withFileLock(_:until:clock:permissions:using:_:)") { place, values in
            let (url, clock) = (place.url(&values), SuspendingClock())
            let deadline = clock.now.advanced(by: values.one(of: [.seconds(-1), .zero, .seconds(1 << 40)]))
            try await url.withFileLock(until: deadline, clock: clock) { await Task.yield() }
        },
        inPlace("FileIO.copy(_:to:options:progress:)") { place, values in
            let options = FileCopyOptions(
                durability: .none, existing: values.one(of: [.fail, .replace, .skip]),
                followsLinks: values.one(of: [true, false]), attributes: .init(rawValue: values.int()))
            try await FileIO.shared.copy(place.url(&values), to: place.url(&values), options: options)
        },
        inPlace("FileIO.rename(_:to:existing:)") { place, values in
            try await FileIO.shared.rename(
                place.url(&values), to: place.url(&values), existing: values.one(of: [.fail, .replace, .skip]))
        },
        inPlace("FileIO.createLink(at:to:followsLinks:)") { place, values in
            try await FileIO.shared.createLink(
                at: place.url(&values), to: place.url(&values), followsLinks: values.one(of: [true, false]))
        },
        inPlace("FileIO.createSymbolicLink(at:to:)") { place, values in
            let url = place.url(&values)
            try await FileIO.shared.createSymbolicLink(at: url, to: values.text())
            _ = try await FileIO.shared.destination(ofSymbolicLink: url)
        },
        inPlace("FileIO.remove(_:)") { try await FileIO.shared.remove($0.url(&$1)) },
        inPlace("FileIO.withTemporaryFile(prefix:suffix:in:_:)") { place, values in
            let parent = place.url(&values)
            try await FileIO.shared.withTemporaryFile(prefix: values.text(), suffix: values.text(), in: parent) { _ in }
        },
    ]

    // MARK: Directories

    private static let directories: [HostileCall] = [
        inPlace("DirectoryEntry.rename(to:existing:)") { place, values in
            for try await entry in FileIO.shared.listing(of: place.directory) {
                _ = try? await entry.rename(
                    to: DirectoryEntry.Name(values.text()), existing: values.one(of: [.fail, .replace, .skip]))
            }
        },
        inPlace("DirectoryEntry.entries(maximumCount:)") { place, values in
            for try await entry in FileIO.shared.listing(of: place.directory) {
                _ = try? await entry.entries(maximumCount: values.int(from: 0))
            }
        },
        inPlace("FileIO.entries(of:maximumCount:)") { place, values in
            let url = values.one(of: [place.url(&values), values.url()])
            _ = try await FileIO.shared.entries(of: url, maximumCount: values.int(from: 0))
        },
        inPlace("FileIO.listing(of:)") { place, values in
            for try await _ in FileIO.shared.listing(of: values.one(of: [place.url(&values), values.url()])) {}
        },
        inPlace("FileIO.walk(_:options:)") { place, values in
            var options = WalkOptions()
            options.maximumDepth = values.int(from: 0)
            for try await _ in FileIO.shared.walk(place.url(&values), options: options) {}
        },
        inPlace("FileIO.copyTree(_:to:options:progress:)") { place, values in
            try await FileIO.shared.copyTree(
                place.url(&values), to: place.url(&values),
                options: TreeCopyOptions(
                    attributes: .init(rawValue: values.int()), specialFiles: values.one(of: [.fail, .skip]),
                    removesOnFailure: values.one(of: [true, false])))
        },
        inPlace("FileIO.removeTree(_:progress:)") { try await FileIO.shared.removeTree($0.url(&$1)) },
        inPlace("FileIO.createDirectory(at:withIntermediates:permissions:)") { place, values in
            try await FileIO.shared.createDirectory(
                at: place.url(&values), withIntermediates: values.one(of: [true, false]),
                permissions: FilePermissions(rawValue: UInt32(truncatingIfNeeded: values.int())))
        },
        inPlace("FileIO.withTemporaryDirectory(prefix:in:_:)") { place, values in
            let parent = place.url(&values)
            try await FileIO.shared.withTemporaryDirectory(prefix: values.text(), in: parent) { _ in }
        },
        inPlace("FileIO.changes(of:kinds:followsLinks:)") { place, values in
            let kinds = FileChange.Kinds(rawValue: UInt32(truncatingIfNeeded: values.int()))
            _ = try await FileIO.shared.changes(
                of: place.url(&values), kinds: kinds, followsLinks: values.one(of: [true, false]))
        },
    ]

    // MARK: Metadata

    private static let metadata: [HostileCall] = [
        HostileCall("FileIO.exists(_:followsLinks:)") { values in
            _ = try await FileIO.shared.exists(values.url(), followsLinks: values.one(of: [true, false]))
        },
        HostileCall("FileIO.status(of:followsLinks:)") { values in
            _ = try await FileIO.shared.status(of: values.url(), followsLinks: values.one(of: [true, false]))
        },
        HostileCall("FileIO.resolve(_:)") { _ = try await FileIO.shared.resolve($0.url()) },
        HostileCall("FileIO.destination(ofSymbolicLink:)") {
            _ = try await FileIO.shared.destination(ofSymbolicLink: $0.url())
        },
        inPlace("FileIO.extendedAttribute(_:of:followsLinks:)") { place, values in
            _ = try await FileIO.shared.extendedAttribute(values.text(), of: place.url(&values))
        },
        inPlace("FileIO.extendedAttributes(of:followsLinks:)") { place, values in
            _ = try await FileIO.shared.extendedAttributes(of: place.url(&values))
        },
        inPlace("FileIO.setExtendedAttribute(_:of:to:_:followsLinks:)") { place, values in
            let name = values.one(of: [values.text(), "user." + values.text()])
            try await FileIO.shared.setExtendedAttribute(
                name, of: place.url(&values), to: Data(values.bytes()),
                values.one(of: [.create, .createOrReplace, .replace]), followsLinks: values.one(of: [true, false]))
        },
        inPlace("FileIO.removeExtendedAttribute(_:of:followsLinks:)") { place, values in
            try await FileIO.shared.removeExtendedAttribute("user." + values.text(), of: place.url(&values))
        },
        inPlace("FileIO.setOwner(of:user:group:followsLinks:)") { place, values in
            try await FileIO.shared.setOwner(
                of: place.url(&values), user: values.one(of: [nil, UInt32(truncatingIfNeeded: values.int())]),
                group: values.one(of: [nil, UInt32(truncatingIfNeeded: values.int())]),
                followsLinks: values.one(of: [true, false]))
        },
        inPlace("FileIO.setPermissions(_:of:)") { place, values in
            let permissions = FilePermissions(rawValue: UInt32(truncatingIfNeeded: values.int()))
            try await FileIO.shared.setPermissions(permissions, of: place.url(&values))
        },
        inPlace("FileIO.setTimes(of:modification:access:followsLinks:)") { place, values in
            let time = FileTime(seconds: values.int64(), nanoseconds: min(999_999_999, values.int(from: 0)))
            try await FileIO.shared.setTimes(
                of: place.url(&values), modification: time, access: values.one(of: [nil, time]),
                followsLinks: values.one(of: [true, false]))
            _ = try await FileIO.shared.status(of: place.file)
        },
    ]

    // MARK: Descriptors

    private static let wrong: [CInt] = [-1, .min, .max]

    private static let descriptors: [HostileCall] = [
        HostileCall("FileIO.chunks(descriptor:name:upTo:)") { values in
            let chunks = FileIO.shared.chunks(
                descriptor: values.one(of: wrong), name: values.text(), upTo: values.int(from: 1))
            for try await _ in chunks {}
        },
        HostileCall("FileIO.read(upToCount:descriptor:name:)") { values in
            _ = try await FileIO.shared.read(
                upToCount: values.int(from: 0), descriptor: values.one(of: wrong), name: values.text())
        },
        HostileCall("FileIO.readToEnd(descriptor:name:maximumSize:)") { values in
            _ = try await FileIO.shared.readToEnd(
                descriptor: values.one(of: wrong), name: values.text(), maximumSize: values.int(from: 0))
        },
        HostileCall("FileIO.write(_:descriptor:name:)") { values in
            try await FileIO.shared.write(
                Data(values.bytes()), descriptor: values.one(of: wrong), name: values.text())
        },
        inPlace("FileHandle.asyncRead(upToCount:using:)") { place, values in
            _ = try await FileHandle(forReadingFrom: place.file).asyncRead(upToCount: values.int(from: 0))
        },
        inPlace("FileHandle.asyncReadToEnd(maximumSize:using:)") { place, values in
            _ = try await FileHandle(forReadingFrom: place.file).asyncReadToEnd(maximumSize: values.int(from: 0))
        },
        inPlace("FileHandle.asyncWrite(_:using:)") { place, values in
            try await FileHandle(forWritingTo: place.file).asyncWrite(Data(values.bytes()))
        },
        inPlace("FileHandle.chunks(of:using:)") { place, values in
            for try await _ in try FileHandle(forReadingFrom: place.file).chunks(of: values.int(from: 1)) {}
        },
    ]

    // MARK: Values

    private static let values: [HostileCall] = [
        HostileCall("DirectoryEntry.Name.init(_:)") { _ = DirectoryEntry.Name($0.text()).description },
        HostileCall("FileIdentity.init(device:inode:)") { values in
            let (device, inode) = (UInt64(bitPattern: values.int64()), UInt64(bitPattern: values.int64()))
            let identity = FileIdentity(device: device, inode: inode)
            let decoded = try JSONDecoder().decode(FileIdentity.self, from: JSONEncoder().encode(identity))
            guard decoded == identity else { fatalError("\(decoded) isn't \(identity).") }
        },
        HostileCall("FileIdentity.init(from:)") { values in
            let identity = FileIdentity(device: UInt64(bitPattern: values.int64()), inode: 1)
            _ = try JSONDecoder().decode(FileIdentity.self, from: values.damagedJSON(of: identity)).hashValue
        },
        HostileCall("FileTime.init(_:)") { values in
            let time = FileTime(Date(timeIntervalSince1970: values.double()))
            _ = (time.seconds, time.date, time < .now)
        },
        HostileCall("DirectoryEntry.Name.init(bytes:)") { _ = DirectoryEntry.Name(bytes: $0.bytes()).description },
        HostileCall("DirectoryEntry.Name.init(stringLiteral:)") {
            _ = DirectoryEntry.Name(stringLiteral: $0.text()).description
        },
        HostileCall("FileChange.Kinds.init(rawValue:)") {
            _ = FileChange.Kinds(rawValue: UInt32(truncatingIfNeeded: $0.int())).union(.all)
        },
        HostileCall("FileCopyOptions.Attributes.init(rawValue:)") {
            _ = FileCopyOptions.Attributes(rawValue: $0.int())
        },
        HostileCall("FileCopyResult.init(fileSize:method:)") {
            _ = "\(FileCopyResult(fileSize: $0.int64(), method: .clone))"
        },
        HostileCall("FileError.init(_:subject:message:remedy:cause:)") { values in
            let error = FileError(
                .invalidPath, subject: values.text(), message: values.text(),
                remedy: values.one(of: [nil, values.text()]))
            _ = (error.description, error.localizedDescription, error.hashValue, error == error)
        },
        HostileCall("FileIO.Configuration.init(concurrency:stackSize:lanes:)") { values in
            let files = FileIO(
                configuration: .init(
                    concurrency: values.int(from: 1), stackSize: min(1 << 22, values.int()), lanes: []))
            _ = try await files.exists(URL(filePath: "/"))
        },
        HostileCall("FilePermissions.init(integerLiteral:)") {
            _ = "\(FilePermissions(integerLiteral: UInt32(truncatingIfNeeded: $0.int())))"
        },
        HostileCall("FilePermissions.init(rawValue:)") {
            _ = "\(FilePermissions(rawValue: UInt32(truncatingIfNeeded: $0.int())))"
        },
        HostileCall("FileProgress.init(completedBytes:totalBytes:completedEntries:totalEntries:isFinished:)") {
            values in
            let progress = FileProgress(
                completedBytes: values.int64(), totalBytes: values.one(of: [nil, values.int64()]),
                completedEntries: values.int(), totalEntries: values.one(of: [nil, values.int()]))
            guard (0...1).contains(progress.fractionCompleted ?? 0) else { fatalError("\(progress)") }
        },
        HostileCall("FileReadOptions.init(rawValue:)") { _ = FileReadOptions(rawValue: $0.int()) },
        HostileCall("FileTime.init(seconds:nanoseconds:)") { values in
            let time = FileTime(seconds: values.int64(), nanoseconds: min(999_999_999, values.int(from: 0)))
            _ = ("\(time)", time.hashValue, time < time)
        },
        HostileCall("FileWriteOptions.init(durability:existing:temporaryName:permissions:)") { _ = options(&$0) },
        HostileCall("LineError.init(code:line:offset:remedy:)") { values in
            _ = LineError(code: .tooLong, line: values.int(), offset: values.int64(), remedy: values.text()).description
        },
    ]
}
