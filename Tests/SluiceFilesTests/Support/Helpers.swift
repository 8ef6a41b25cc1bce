import Foundation
import SluiceFiles
import Testing

/// Calls `body` with a new engine and directory, and expects afterwards that nothing is open, waiting or running.
func withIO(
    concurrency: Int = 4, calls: SystemCalls = .system, in parent: URL? = nil,
    sourceLocation: SourceLocation = #_sourceLocation, _ body: (FileIO, URL) async throws -> Void
) async throws {
    _ = manyDescriptors
    try await FileIO.shared.withTemporaryDirectory(prefix: "sluice-tests", in: parent) { directory in
        let io = FileIO(configuration: .init(concurrency: concurrency), calls: calls)
        let result: Result<Void, any Error>
        do {
            result = .success(try await body(io, directory))
        } catch {
            result = .failure(error)
        }
        await io.shutdown()
        let statistics = io.statistics
        #expect(statistics.openCount == 0, "descriptors", sourceLocation: sourceLocation)
        #expect(statistics.waitingCount == 0, "waiting", sourceLocation: sourceLocation)
        #expect(statistics.runningCount == 0, "running", sourceLocation: sourceLocation)
        #expect(statistics.threadCount == 0, "threads", sourceLocation: sourceLocation)
        try result.get()
    }
}

/// Raises this process's descriptor limit to 4096, or as far as the system allows: hundreds of tests run concurrently, and a shell's
/// limit is 1024.
private let manyDescriptors: Void = {
    var limit = rlimit()
    getrlimit(descriptors, &limit)
    if limit.rlim_cur >= 4096 { return }
    limit.rlim_cur = min(4096, limit.rlim_max)
    setrlimit(descriptors, &limit)
}()

#if canImport(Glibc)
private let descriptors = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
#else
private let descriptors = RLIMIT_NOFILE
#endif

/// The names in a directory.
func names(in directory: URL) -> [String] {
    (try? FileManager.default.contentsOfDirectory(atPath: directory.path).sorted()) ?? ["no such directory"]
}

/// The bytes of a file, read without the code under test.
func contents(of url: URL) -> Data { (try? Data(contentsOf: url)) ?? Data("cannot be read".utf8) }

func mode(of url: URL) -> Int? {
    (try? FileManager.default.attributesOfItem(atPath: url.path)[.posixPermissions] as? NSNumber)?.intValue
}

/// Bytes that depend on their position and on the seed. At most slightly more than 1 MB.
func pattern(_ count: Int, seed: UInt8 = 0) -> Data {
    Data(patternBytes[(Int(seed) * 257)...].prefix(count))
}

private let patternBytes: [UInt8] = {
    var bytes = [UInt8](repeating: 0, count: 1_100_000)
    var state: UInt32 = 1
    for index in bytes.indices {
        state = state &* 1_664_525 &+ 1_013_904_223
        bytes[index] = UInt8(truncatingIfNeeded: state >> 24)
    }
    return bytes
}()

/// Expects a `FileError` with this code, and returns it.
@discardableResult
func expectFileError<R>(
    _ code: FileError.Code, sourceLocation: SourceLocation = #_sourceLocation, _ body: () async throws -> R
) async -> FileError? {
    do {
        _ = try await body()
        Issue.record("nothing was thrown", sourceLocation: sourceLocation)
    } catch let error as FileError {
        #expect(error.code == code, "\(error)", sourceLocation: sourceLocation)
        return error
    } catch {
        Issue.record("not a FileError: \(error)", sourceLocation: sourceLocation)
    }
    return nil
}

/// Returns whether both have the same bytes. `#expect(a == b)` would compute a difference, which takes minutes for large values.
func same(_ a: Data, _ b: Data) -> Bool { a == b }

/// A directory in memory for tests that make thousands of files, because some disks need seconds for that; nil if there is none.
let memoryDirectory: URL? = access("/dev/shm", W_OK) == 0 ? URL(filePath: "/dev/shm") : nil

// MARK: - Extended attributes

// Extended attributes, without the code under test. Glibc's module doesn't have these functions.

private typealias Set =
    @convention(c) (UnsafePointer<CChar>, UnsafePointer<CChar>, UnsafeRawPointer?, Int, CInt) -> CInt
private typealias Get =
    @convention(c) (UnsafePointer<CChar>, UnsafePointer<CChar>, UnsafeMutableRawPointer?, Int) -> Int

/// Sets an attribute of a file, or of a link itself. Returns whether that succeeded.
@discardableResult
func setAttribute(_ name: String, of url: URL, to value: Data) -> Bool {
    guard let symbol = dlsym(nil, "lsetxattr") else { return false }
    return value.withUnsafeBytes { unsafeBitCast(symbol, to: Set.self)(url.path, name, $0.baseAddress, $0.count, 0) }
        == 0
}

/// The attribute of a file, or of a link itself; nil if it has none.
func attribute(_ name: String, of url: URL) -> Data? {
    guard let symbol = dlsym(nil, "lgetxattr") else { return nil }
    var value = Data(count: 70_000)
    let count = value.withUnsafeMutableBytes {
        unsafeBitCast(symbol, to: Get.self)(url.path, name, $0.baseAddress, $0.count)
    }
    return count < 0 ? nil : value.prefix(count)
}
