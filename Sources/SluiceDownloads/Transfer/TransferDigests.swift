import HTTPTypes
import SluiceConcurrency
import SluiceFiles
import SluiceHTTP
import SluiceLock

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Computes the digests of a transfer's bytes while they arrive, and compares them with the expected ones.
///
/// | what is expected | says something about | is verified |
/// |---|---|---|
/// | ``DownloadRequest/checksum`` | the file | before the file gets its name |
/// | `Repr-Digest` (RFC 9530, section 3) | the file, also in a response with a part | before the file gets its name |
/// | `Content-Digest` (section 2) | the bytes of one response | when the response has ended |
///
/// Both fields may also come after the body, as trailers. Which digest to compute is known only then, so the bytes are read again.
///
/// Of several digests in a field, the strongest counts. The digests of an encoded body aren't verified, because an engine may have decoded it.
/// The bytes of an earlier attempt are read from the partial file.
///
/// A transfer writes bytes while another task hashes them, so the running digests are behind a lock.
final class TransferDigests: Sendable {
    /// An expected digest, and where it comes from.
    struct Expectation: Equatable {
        enum Source: Equatable { case request, reprDigest, contentDigest }

        var checksum: Checksum
        var source: Source
    }

    private struct State {
        var ofFile: [Expectation] = []
        var ofMessage: Expectation?
        /// One for each algorithm that a digest of the file needs.
        var running: [RunningChecksum] = []
        /// The number of the file's bytes that are in the running digests.
        var count: Int64 = 0
        var message: RunningChecksum?

        mutating func add(_ chunk: Data) {
            for digest in running { digest.update(chunk) }
            count += Int64(chunk.count)
        }
    }

    private let requested: Checksum?
    /// The algorithm of a digest that is computed for later, whether one is expected or not.
    private let recorded: Checksum.Algorithm?
    private let state = Lock(State())

    init(requested: Checksum?, recorded: Checksum.Algorithm? = nil) {
        self.requested = requested
        self.recorded = recorded
    }

    // MARK: Responses

    /// Begins a response that contains the whole file.
    func begin(_ fields: HTTPFields) {
        state.withLock { state in
            expect(fields, &state)
            // The response and the file have the same bytes.
            if let ofMessage = state.ofMessage { state.ofFile.append(ofMessage) }
            (state.ofMessage, state.message) = (nil, nil)
            restart(&state)
        }
    }

    /// Begins a response that contains the rest of the file after `offset` bytes, or nothing because they are all there.
    func resume(at offset: Int64, of file: URL, _ fields: HTTPFields, using files: FileIO) async throws {
        let mustRead = state.withLock { state in
            expect(fields, &state)
            state.message = state.ofMessage.map { RunningChecksum($0.checksum.algorithm) }
            let needed = needed(state)
            let isComputed = state.count == offset && needed.isSubset(of: state.running.map(\.algorithm))
            guard !needed.isEmpty, !isComputed else { return false }
            restart(&state)
            return true
        }
        guard mustRead else { return }
        for try await chunk in file.chunks(using: files) {
            state.withLock { state in
                if state.count < offset { state.add(chunk.prefix(Int(clamping: offset - state.count))) }
            }
        }
    }

    private func expect(_ fields: HTTPFields, _ state: inout State) {
        state.ofFile = requested.map { [Expectation(checksum: $0, source: .request)] } ?? []
        state.ofMessage = nil
        guard [nil, "", "identity"].contains(fields.value(of: .contentEncoding)?.lowercased()) else { return }
        if let strongest = Self.strongest(fields.value(of: .reprDigest)) {
            state.ofFile.append(Expectation(checksum: strongest, source: .reprDigest))
        }
        // A cache that combines parts may pass on the digest of one of them.
        if !fields.contains(.age), let strongest = Self.strongest(fields.value(of: .contentDigest)) {
            state.ofMessage = Expectation(checksum: strongest, source: .contentDigest)
        }
    }

    private static func strongest(_ field: String?) -> Checksum? {
        field.flatMap { Checksum.inField($0).max { $0.bytes.count < $1.bytes.count } }
    }

    private func needed(_ state: State) -> Set<Checksum.Algorithm> {
        Set(state.ofFile.map(\.checksum.algorithm)).union(recorded.map { [$0] } ?? [])
    }

    private func restart(_ state: inout State) {
        state.running = needed(state).map { RunningChecksum($0) }
        state.count = 0
    }

    // MARK: Bytes

    /// Whether a digest is computed of the response's bytes.
    var isHashing: Bool { state.withLock { !$0.running.isEmpty || $0.message != nil } }

    /// Hashes batches until the queue is finished or the task is cancelled.
    func update(from batches: AsyncBoundedQueue<[Data]>) async {
        while let batch = try? await batches.dequeue() { update(batch) }
    }

    func update(_ batch: [Data]) {
        state.withLock { state in
            for chunk in batch {
                if !state.running.isEmpty { state.add(chunk) }
                state.message?.update(chunk)
            }
        }
    }

    // MARK: Ends

    /// Call this when a response has ended as announced.
    func verifyMessage() throws(TransferFailure) {
        let (expected, found) = state.withLock { state in
            defer { (state.ofMessage, state.message) = (nil, nil) }
            return (state.ofMessage, state.message?.finish())
        }
        guard let expected, let found else { return }
        guard found == expected.checksum else { throw .digest(expected, found: found) }
    }

    /// Verifies the digests that came after the body of a response. Call this when the body has ended as announced.
    ///
    /// - Parameters:
    ///   - body: The offsets of the response's bytes in the file.
    ///   - isLast: Whether all bytes of the file have arrived.
    ///   - file: The file with the received bytes.
    func verifyTrailers(
        of response: TransportResponse, _ body: Range<Int64>, isLast: Bool, in file: URL, using files: FileIO
    ) async throws {
        let (fields, trailers) = (response.headerFields, response.trailers)
        guard !trailers.isEmpty, [nil, "", "identity"].contains(fields.value(of: .contentEncoding)?.lowercased()) else {
            return
        }
        let ofFile = isLast ? Self.strongest(trailers[.reprDigest]) : nil
        let ofMessage = !fields.contains(.age) ? Self.strongest(trailers[.contentDigest]) : nil
        for (expected, source, range) in [
            (ofFile, Expectation.Source.reprDigest, 0..<body.upperBound), (ofMessage, .contentDigest, body),
        ] {
            guard let expected else { continue }
            let found = try await Self.checksum(expected.algorithm, of: file, in: range, using: files)
            guard found == expected else {
                throw TransferFailure.digest(Expectation(checksum: expected, source: source), found: found)
            }
        }
    }

    /// Call this once, when all bytes of the file have arrived. Returns the digest that is computed for later.
    @discardableResult
    func verifyFile() throws(TransferFailure) -> Checksum? {
        let (ofFile, found) = state.withLock { state in
            defer { state.running = [] }
            return (state.ofFile, state.running.map { $0.finish() })
        }
        for expected in ofFile {
            guard let same = found.first(where: { $0.algorithm == expected.checksum.algorithm }) else {
                preconditionFailure("A digest of the file wasn't computed.")
            }
            guard same == expected.checksum else { throw .digest(expected, found: same) }
        }
        return recorded.flatMap { recorded in found.first { $0.algorithm == recorded } }
    }

    /// Returns the checksum of a file's bytes.
    static func checksum(
        _ algorithm: Checksum.Algorithm, of file: URL, using files: FileIO
    ) async throws -> Checksum {
        let running = RunningChecksum(algorithm)
        for try await chunk in file.chunks(using: files) { running.update(chunk) }
        return running.finish()
    }

    /// Returns the checksum of some of a file's bytes.
    static func checksum(
        _ algorithm: Checksum.Algorithm, of file: URL, in range: Range<Int64>, using files: FileIO
    ) async throws -> Checksum {
        try await file.withRandomAccessFile(using: files) { file in
            let running = RunningChecksum(algorithm)
            var offset = range.lowerBound
            while offset < range.upperBound {
                let bytes = try await file.read(at: offset, upToCount: Int(min(1 << 20, range.upperBound - offset)))
                if bytes.isEmpty { break }
                running.update(bytes)
                offset += Int64(bytes.count)
            }
            return running.finish()
        }
    }
}
