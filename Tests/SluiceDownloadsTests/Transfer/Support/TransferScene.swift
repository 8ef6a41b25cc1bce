import Foundation
import HTTPTypes
import LoopbackOrigin
import SluiceFiles
import SluiceHTTP
import Testing
import TestSupport

@testable import SluiceDownloads

/// An origin, a directory and the transfers of one file between them. The origin records the requests.
struct TransferScene: Sendable {
    let origin: LoopbackOrigin
    let transport: HTTPTransport
    let request: DownloadRequest
    /// The requested ranges, in order; "" for none.
    let ranges: Recorder<String>
    /// The number of body bytes that the origin sent.
    let sent: Recorder<Int>
    let phases = Recorder<TransferPhase>()

    var directory: URL { request.directory }
    var names: [String] { (try? FileManager.default.contentsOfDirectory(atPath: directory.path).sorted()) ?? [] }
    var partialSize: Int? { (try? Data(contentsOf: request.partialTarget))?.count }
    var checkpoint: Checkpoint? { (try? Data(contentsOf: request.checkpointTarget)).flatMap { Checkpoint($0) } }

    func target(is content: [UInt8]) -> Bool {
        (try? Data(contentsOf: request.target)) == Data(content)
    }

    func transfer(
        files: FileIO = .shared, existing: ExistingFile = .fail, durability: Durability = .none,
        mayBePublished: Bool = false, checksum: Checksum? = nil, checkpoints: CheckpointPolicy = CheckpointPolicy(),
        segments: SegmentPlan = SegmentPlan(),
        onResponse: @escaping (Int64?, Int64) -> Void = { _, _ in }, onReceived: @escaping (Int64) -> Void = { _ in },
        onPhase: @escaping (TransferPhase) -> Void = { _ in }
    ) -> Transfer {
        var request = request
        request.checksum = checksum
        return Transfer(
            request: request, transport: transport, files: files, existing: existing, durability: durability,
            mayBePublished: mayBePublished, checkpoints: checkpoints, segments: segments, onResponse: onResponse,
            onReceived: onReceived,
            onPhase: {
                phases.note($0)
                onPhase($0)
            })
    }

    /// Runs a transfer to its end and removes its checkpoint, as a caller does.
    @discardableResult
    func finish(
        durability: Durability = .none, existing: ExistingFile = .fail, files: FileIO = .shared
    ) async throws -> Int64 {
        let transfer = transfer(files: files, existing: existing, durability: durability)
        let result = try await transfer.run()
        try? await Transfer.discardPartial(of: request, files: files)
        return result.bytes
    }

    /// Leaves a partial file with its checkpoint: cancels a transfer once this many bytes of the file have arrived.
    func leavePartial(
        at count: Int, durability: Durability = .none, existing: ExistingFile = .fail,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async {
        let arrived = Gate()
        let running = Task {
            try await transfer(
                existing: existing, durability: durability,
                onReceived: { if $0 == count { Task { await arrived.pass() } } }
            ).run()
        }
        await arrived.arrivals(1)
        running.cancel()
        await #expect(throws: CancellationError.self, sourceLocation: sourceLocation) { try await running.value }
        await arrived.open()
    }

    /// Calls `body` with a scene and an origin that answers with a closure.
    static func with(
        _ answer: @escaping @Sendable (OriginRequest) async -> OriginResponse, name: String = "a.bin",
        during body: @escaping @Sendable (TransferScene) async throws -> Void
    ) async throws {
        let ranges = Recorder<String>()
        let sent = Recorder<Int>()
        try await FileIO.shared.withTemporaryDirectory(prefix: "sluice-tests") { directory in
            try await LoopbackOrigin.serve { request in
                ranges.note(request.headerFields[.range] ?? "")
                let response = await answer(request)
                sent.note(
                    response.steps.reduce(0) {
                        if case .send(let bytes) = $1 { $0 + bytes.count } else { $0 }
                    })
                return response
            } during: { origin in
                try await withPatientTransport { transport in
                    try await body(
                        TransferScene(
                            origin: origin, transport: transport,
                            request: DownloadRequest(
                                try URL(fetchable: origin.url("/a.bin")), to: directory, name: name),
                            ranges: ranges, sent: sent))
                }
            }
        }
    }
}
