import HTTPTypes
import SluiceConcurrency
import SluiceFiles
import SluiceHTTP

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
/// It is an actor so that a transfer can write bytes while they are hashed.
actor TransferDigests {
    /// An expected digest, and where it comes from.
    struct Expectation: Equatable {
        enum Source: Equatable { case request, reprDigest, contentDigest }

        var checksum: Checksum
        var source: Source
    }

    private let requested: Checksum?
    /// The algorithm of a digest that is computed for later, whether one is expected or not.
    private let recorded: Checksum.Algorithm?
    private var ofFile: [Expectation] = []
    private var ofMessage: Expectation?
    /// One for each algorithm that a digest of the file needs.
    private var running: [RunningChecksum] = []
    /// The number of the file's bytes that are in the running digests.
    private var count: Int64 = 0
    private var message: RunningChecksum?

    init(requested: Checksum?, recorded: Checksum.Algorithm? = nil) {
        self.requested = requested
        self.recorded = recorded
    }

    // MARK: Responses

    /// Begins a response that contains the whole file.
    func begin(_ fields: HTTPFields) {
        expect(fields)
        // The response and the file have the same bytes.
        if let ofMessage { ofFile.append(ofMessage) }
        (ofMessage, message) = (nil, nil)
        restart()
    }

    /// Begins a response that contains the rest of the file after `offset` bytes, or nothing because they are all there.
    func resume(at offset: Int64, of file: URL, _ fields: HTTPFields, using files: FileIO) async throws {
        expect(fields)
        message = ofMessage.map { RunningChecksum($0.checksum.algorithm) }
        let isComputed = count == offset && needed.isSubset(of: running.map(\.algorithm))
        guard !needed.isEmpty, !isComputed else { return }
        restart()
        for try await chunk in file.chunks(using: files) where count < offset {
            add(chunk.prefix(Int(clamping: offset - count)))
        }
    }

    private func expect(_ fields: HTTPFields) {
        ofFile = requested.map { [Expectation(checksum: $0, source: .request)] } ?? []
        ofMessage = nil
        guard [nil, "", "identity"].contains(fields[.contentEncoding]?.lowercased()) else { return }
        if let strongest = Self.strongest(fields[.reprDigest]) {
            ofFile.append(Expectation(checksum: strongest, source: .reprDigest))
        }
        // A cache that combines parts may pass on the digest of one of them.
        if fields[.age] == nil, let strongest = Self.strongest(fields[.contentDigest]) {
            ofMessage = Expectation(checksum: strongest, source: .contentDigest)
        }
    }

    private static func strongest(_ field: String?) -> Checksum? {
        field.flatMap { Checksum.inField($0).max { $0.bytes.count < $1.bytes.count } }
    }

    private var needed: Set<Checksum.Algorithm> {
        Set(ofFile.map(\.checksum.algorithm)).union(recorded.map { [$0] } ?? [])
    }

    private func restart() {
        running = needed.map { RunningChecksum($0) }
        count = 0
    }

    // MARK: Bytes

    /// Whether a digest is computed of the response's bytes.
    var isHashing: Bool { !running.isEmpty || message != nil }

    /// Hashes batches until the queue is finished or the task is cancelled.
    func update(from batches: AsyncBoundedQueue<[Data]>) async {
        while let batch = try? await batches.dequeue() { update(batch) }
    }

    func update(_ batch: [Data]) {
        for chunk in batch {
            if !running.isEmpty { add(chunk) }
            message?.update(chunk)
        }
    }

    private func add(_ chunk: Data) {
        for digest in running { digest.update(chunk) }
        count += Int64(chunk.count)
    }

    // MARK: Ends

    /// Call this when a response has ended as announced.
    func verifyMessage() throws(TransferFailure) {
        guard let expected = ofMessage, let message else { return }
        (ofMessage, self.message) = (nil, nil)
        let found = message.finish()
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
        guard !trailers.isEmpty, [nil, "", "identity"].contains(fields[.contentEncoding]?.lowercased()) else { return }
        let ofFile = isLast ? Self.strongest(trailers[.reprDigest]) : nil
        let ofMessage = fields[.age] == nil ? Self.strongest(trailers[.contentDigest]) : nil
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
        let found = running.map { $0.finish() }
        running = []
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
