import HTTPTypes
import SluiceConcurrency
import SluiceFiles
import SluiceHTTP

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// How a transfer downloads a large file in segments.
struct SegmentPlan: Sendable {
    /// A URL of the file, with what a request for it needs.
    struct Source: Sendable {
        var url: URL
        var headerFields: HTTPFields
        var cookies: CookieJar?
        /// The host whose limits count.
        var host: String

        /// A source that gets no header fields, which could be secrets.
        static func bare(_ url: URL) -> Source {
            Source(url: url, headerFields: [:], host: DownloadRequest.host(of: url))
        }
    }

    var limits = DownloadCoordinator.Segments(count: 1)
    /// Other URLs of the file. The further connections use them and the transfer's own URL in turn.
    var mirrors: [URL] = []
    /// Returns what a request for a mirror needs. It is called only if the file is downloaded in segments. If it throws an error, the mirror
    /// isn't used.
    var mirrorSource: @Sendable (URL) async throws -> Source = { .bare($0) }
    var connections = HostConnections.unlimited
    /// The host of the transfer.
    var host = ""

    /// Whether a file is downloaded in segments: it must be large, the server must have ranges, and a strong validator must tell the
    /// connections that they receive the same file.
    func covers(_ announced: Int64?, _ validator: Validator?, _ fields: HTTPFields) -> Bool {
        guard limits.count > 1, let announced, validator != nil, announced / 2 >= limits.minimumSize else {
            return false
        }
        return fields.value(of: .acceptRanges)?.trimmingSpaces().lowercased() == "bytes"
    }
}

/// Downloads the missing bytes of a file over several connections.
///
/// ```text
/// first connection     takes segments until the file is complete. If it fails, so does the transfer, and the checkpoint is kept.
/// other connections    take segments while their host has room (HostConnections). One that fails gives its segment back and ends.
/// the transfer's task  reports progress and renews the checkpoint.
/// ```
///
/// Every request has a range and the validator in If-Range, so a server that has another version of the file sends no part of it.
struct SegmentedTransfer: Sendable {
    /// Why the first connection can't continue the segments: the file has changed, or the server has stopped serving ranges.
    struct MustStartAgain: Error {}

    private struct State: Sendable {
        var map: SegmentMap
        /// The header fields of the last response to the first connection.
        var fields: HTTPFields = [:]
        /// What came from other servers than the transfer's own, or may have.
        var mirrored = MirroredBytes()
        var failure: (any Error)?

        var hasEnded: Bool { failure != nil || map.isComplete }
    }

    private enum Server {
        case own
        case mirror(URL)
        /// A server that the first response named.
        case named(URL)
    }

    private let plan: SegmentPlan
    private let own: SegmentPlan.Source
    /// The further connections use them in turn.
    private let servers: [Server]
    /// A response with the whole file, which the first connection reads as far as its segment goes.
    private let whole: TransportResponse?
    private let validator: Validator
    private let total: Int64
    private let file: CheckpointedFile
    private let transport: any Transport
    private let pace: @Sendable (_ count: Int, _ host: String) async throws -> Void
    private let state: Monitor<State>
    /// Yields when bytes have arrived, and ends when the file is complete or the transfer has failed.
    private let arrivals: (stream: AsyncStream<Void>, continuation: AsyncStream<Void>.Continuation)

    /// - Parameter whole: A response with the whole file, which the first connection reads as far as its segment goes.
    init(
        _ map: SegmentMap, _ validator: Validator, of file: CheckpointedFile, from own: SegmentPlan.Source,
        _ plan: SegmentPlan, whole: TransportResponse?, transport: any Transport,
        pace: @escaping @Sendable (_ count: Int, _ host: String) async throws -> Void
    ) {
        let named =
            if let whole, plan.limits.usesDuplicates {
                DuplicateLinks.urls(in: whole.headerFields, of: whole.url).filter { !plan.mirrors.contains($0) }
            } else {
                [URL]()
            }
        servers = [.own] + plan.mirrors.map { .mirror($0) } + named.map { .named($0) }
        (self.plan, self.own, self.whole, self.validator) = (plan, own, whole, validator)
        (self.file, self.transport, self.pace) = (file, transport, pace)
        total = map.total
        var state = State(map: map)
        if servers.count > 1 { for range in map.writtenRanges { state.mirrored.note(range) } }
        self.state = Monitor(state)
        arrivals = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    var map: SegmentMap { state.withState { $0.map } }
    /// The header fields of the last response to the first connection.
    var headerFields: HTTPFields { state.withState { $0.fields } }
    var mirrored: MirroredBytes { state.withState { $0.mirrored } }

    /// Downloads until the file is complete. Calls `onArrival` when bytes have arrived, but less often.
    ///
    /// - Throws: ``MustStartAgain``; `TransferFailure`, `TransferError`, `FileError`, `CancellationError`.
    func run(onArrival: (SegmentMap) async throws -> Void) async throws {
        try await withThrowingTaskGroup(of: Void.self) { connections in
            defer { connections.cancelAll() }
            // Before another connection takes the first segment.
            let begun = whole.flatMap { response in take().map { ($0, Part(response.body, total)) } }
            connections.addTask { await runFirst(begun) }
            for number in 1..<max(1, plan.limits.count) {
                connections.addTask { try await runFurther(servers[number % servers.count]) }
            }
            for await _ in arrivals.stream { try await onArrival(map) }
            if let failure = state.withState({ $0.failure }) { throw failure }
            try Task.checkCancellation()
            try await onArrival(map)
        }
    }

    // MARK: Connections

    private func runFirst(_ begun: (SegmentMap.ID, Part)?) async {
        do {
            try await fetchSegments(from: own, begun, isFirst: true)
            while !state.withState({ $0.hasEnded }) {
                try await state.waitUnlessCancelled { $0.hasEnded || $0.map.hasWork(splittingFrom: minimum) }
                try await fetchSegments(from: own, nil, isFirst: true)
            }
            arrivals.continuation.finish()
        } catch {
            fail(error)
        }
    }

    private func runFurther(_ server: Server) async throws {
        let source: SegmentPlan.Source
        switch server {
        case .own: source = own
        case .named(let url): source = .bare(url)
        case .mirror(let url):
            guard let mirror = try? await plan.mirrorSource(url) else { return }
            source = mirror
        }
        var isUsable = true
        while isUsable {
            try Task.checkCancellation()
            try await state.waitUnlessCancelled { $0.failure == nil && $0.map.hasWork(splittingFrom: minimum) }
            isUsable =
                try await plan.connections.borrow(from: source.host) {
                    do {
                        try await fetchSegments(from: source, nil, isFirst: false)
                        return true
                    } catch is CancellationError {
                        return true
                    } catch {
                        if error is FileError || PartialFile.isDamaging(error) { fail(error) }
                        // Other connections take over.
                        return false
                    }
                } ?? true
        }
    }

    private func fail(_ error: any Error) {
        state.withState { $0.failure = $0.failure ?? error }
        arrivals.continuation.finish()
    }

    private var minimum: Int64 { plan.limits.minimumSize }

    // MARK: Segments

    private func take() -> SegmentMap.ID? {
        state.withState { $0.failure == nil ? $0.map.take(splittingFrom: minimum) : nil }
    }

    /// Downloads segments until none is left to take.
    ///
    /// - Parameter begun: A segment that is already taken, and the response that begins with its first byte.
    private func fetchSegments(
        from source: SegmentPlan.Source, _ begun: (SegmentMap.ID, Part)?, isFirst: Bool
    ) async throws {
        var begun = begun
        while var id = begun?.0 ?? take() {
            var written: Int64 = 0
            do {
                defer { state.withState { [id] in $0.map.release(id) } }
                let part = if let begun { begun.1 } else { try await ask(for: id, of: source, isFirst: isFirst) }
                begun = nil
                try await fetch(&id, part, from: source, &written)
            } catch let error as TransferError where error.isTransient && !Task.isCancelled {
                // Servers limit how long a connection lasts. If it was worth its cost, connect again at once.
                guard written >= minimum else { throw error }
            }
        }
    }

    /// The body of a response, and its length.
    private struct Part {
        var body: ResponseBody
        var length: Int64

        init(_ body: ResponseBody, _ length: Int64) { (self.body, self.length) = (body, length) }
    }

    /// Receives a segment to its end, which moves toward its start if another connection takes a part of it. If nobody fetches the next
    /// segment then, goes on with that.
    private func fetch(
        _ id: inout SegmentMap.ID, _ part: Part, from source: SegmentPlan.Source, _ written: inout Int64
    ) async throws {
        var offset = state.withState { [id] in $0.map[id].written }
        // The bytes that were received but not written, those that are left of the body, and those at its start that were written before.
        var (waiting, waitingBytes, left, known) = ([Data](), 0, part.length, 0)
        func write() async throws {
            guard waitingBytes > 0 else { return }
            try await file.write(waiting, at: offset)
            state.withState { [id, waitingBytes, offset] in
                $0.map.noteWritten(waitingBytes, in: id)
                if source.url != own.url {
                    $0.mirrored.note(Int64(waitingBytes), at: offset, from: source.url)
                }
            }
            offset += Int64(waitingBytes)
            written += Int64(waitingBytes)
            (waiting, waitingBytes) = ([], 0)
        }
        var iterator = part.body.makeAsyncIterator()
        func nextBatch() async throws -> [Data]? {
            do {
                return try await iterator.nextBatch()
            } catch {
                // What has arrived is right, even if nothing follows.
                try? await write()
                throw error
            }
        }
        while var batch = try await nextBatch() {
            let arrived = batch.byteCount
            left -= Int64(arrived)
            // The server sends more than it announced, so we can't tell which of its bytes are right.
            if left < 0 { throw TransferFailure.length(announced: part.length, received: part.length - left) }
            while true {
                known -= batch.removeFirst(bytes: known)
                let (kept, isFull) = state.withState { [id] in
                    ($0.map.receive(batch.byteCount, in: id), $0.map[id].received == $0.map[id].end)
                }
                waiting += batch.takeFirst(bytes: kept)
                waitingBytes += kept
                if waitingBytes >= Transfer.writeSize || isFull { try await write() }
                guard isFull, left > 0 || !batch.isEmpty else { break }
                // Another connection downloads the rest of the body, unless it has failed.
                guard let next = takeNeighbor(of: id) else { return part.body.close() }
                id = next
                (offset, known) = state.withState {
                    ($0.map[next].written, Int($0.map[next].written - $0.map[next].first))
                }
            }
            arrivals.continuation.yield()
            try await pace(arrived, source.host)
        }
        try await write()
        if left > 0 { throw TransferFailure.length(announced: part.length, received: part.length - left) }
    }

    /// Releases a segment, and takes the one after it if its bytes aren't worth another request.
    private func takeNeighbor(of id: SegmentMap.ID) -> SegmentMap.ID? {
        state.withState { state in
            guard let next = state.map.takeNeighbor(of: id) else { return nil }
            guard state.map[next].written - state.map[next].first <= minimum else {
                state.map.release(next)
                return nil
            }
            state.map.release(id)
            return next
        }
    }

    private func ask(for id: SegmentMap.ID, of source: SegmentPlan.Source, isFirst: Bool) async throws -> Part {
        let segment = state.withState { $0.map[id] }
        let range = segment.written..<segment.end
        var fields = source.headerFields
        fields[.range] = "bytes=\(range.lowerBound)-\(range.upperBound - 1)"
        fields[.ifRange] = validator.field
        var request = TransportRequest(source.url, headerFields: fields)
        request.cookies = source.cookies
        let response = try await transport.open(request)
        if isFirst { state.withState { $0.fields = response.headerFields } }
        switch response.status.code {
        case 206: return Part(response.body, try length(of: response, in: range))
        case 200, 203, 416: throw MustStartAgain()
        default: throw SegmentRefused(response)
        }
    }

    /// Checks that a 206 response begins with the requested bytes of this version of the file (RFC 9110, section 15.3.7). It may have fewer
    /// bytes than the range.
    private func length(of response: TransportResponse, in range: Range<Int64>) throws(MustStartAgain) -> Int64 {
        let fields = response.headerFields
        guard !TransferStateMachine.isEncoded(fields), !validator.isContradicted(by: fields),
            fields.value(of: .contentType)?.lowercased().hasPrefix("multipart/byteranges") != true,
            case .part(range.lowerBound, let last, let total) = fields.value(of: .contentRange).flatMap({
                ContentRange($0)
            }),
            last < range.upperBound, total ?? self.total == self.total,
            case let length = last + 1 - range.lowerBound, response.contentLength ?? length == length
        else { throw MustStartAgain() }
        return length
    }
}

/// A server's refusal of a segment.
struct SegmentRefused: Error {
    var status: HTTPResponse.Status
    var headerFields: HTTPFields

    init(_ response: TransportResponse) { (status, headerFields) = (response.status, response.headerFields) }
}

extension [Data] {
    fileprivate var byteCount: Int { reduce(0) { $0 + $1.count } }

    /// Removes bytes at the start, and returns how many there were.
    fileprivate mutating func removeFirst(bytes count: Int) -> Int { takeFirst(bytes: count).byteCount }

    /// Removes and returns bytes at the start.
    fileprivate mutating func takeFirst(bytes count: Int) -> [Data] {
        var (taken, left): ([Data], Int) = ([], count)
        while left > 0, let first, let index = indices.first {
            taken.append(first.prefix(left))
            left -= taken[taken.count - 1].count
            if taken[taken.count - 1].count == first.count {
                remove(at: index)
            } else {
                self[index] = first.dropFirst(taken[taken.count - 1].count)
            }
        }
        return taken
    }
}
