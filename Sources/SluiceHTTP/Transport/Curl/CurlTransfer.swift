#if !canImport(Darwin) || os(macOS)
import CSluiceHTTP
import HTTPTypes
import SluiceLock

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// An exchange that libcurl performs, and the context of libcurl's callbacks. Only the loop's thread uses it. The driver keeps it alive
/// while libcurl has a pointer to it.
final class CurlTransfer {
    /// A piece with fewer bytes doesn't start a new block.
    private static let smallPiece = 8 << 10

    let exchange: Exchange
    let easy: CurlDriver.Handle
    private let proxy: String
    /// When the server was last active, or when we started waiting for it.
    var lastActivity = ContinuousClock.now
    var isPaused = false
    var isTouched = false

    private unowned let driver: CurlDriver
    private let blocks: ReceiveBlocks
    /// The block that is being filled, and the number of bytes in it.
    private var block: (start: UnsafeMutableRawPointer, count: Int)?
    private var arrived = 0
    private let began = ContinuousClock.now
    private var head: ResponseHeadParser
    /// A 401 that libcurl may answer with the credentials. Then the head of another response follows.
    private var heldHead: ResponseHead?
    private var fields: UnsafeMutablePointer<curl_slist>?
    private var sent = 0
    private let errorText = UnsafeMutablePointer<CChar>.allocate(capacity: Int(CURL_ERROR_SIZE))

    init(_ exchange: Exchange, _ easy: CurlDriver.Handle, proxy: String, blocks: ReceiveBlocks, driver: CurlDriver) {
        self.exchange = exchange
        self.easy = easy
        self.proxy = proxy
        self.blocks = blocks
        self.driver = driver
        head = ResponseHeadParser(driver.recentFields)
        errorText.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
        head.mayStartAgain = exchange.request.credential != nil
    }

    deinit {
        curl_slist_free_all(fields)
        errorText.deallocate()
    }

    // MARK: The request

    /// If `mayUseDigest` is true, the password is sent only after the server has asked for it.
    func prepare(mayUseDigest: Bool) -> CURLcode {
        let request = exchange.request
        for field in request.headerFields where request.cookies == nil || field.name != .cookie {
            // libcurl sends a field without a value if a semicolon follows the name (CURLOPT_HTTPHEADER(3)).
            let line = field.value.isEmpty ? "\(field.name.rawName);" : "\(field.name.rawName): \(field.value)"
            guard append(line) else { return CURLE_OUT_OF_MEMORY }
        }
        // Don't wait for `100 Continue`, which many servers never send.
        guard request.body == nil || append("Expect:") else { return CURLE_OUT_OF_MEMORY }
        return exchange.address.withCString { address in
            request.method.rawValue.withCString { method in
                proxy.withCString { proxy in
                    Self.withText(request.credential?.user) { user in
                        Self.withText(request.credential?.password) { password in
                            // Together with the jar's in one field, as RFC 6265 requires (section 5.4).
                            let cookies = request.cookies == nil ? nil : request.headerFields[.cookie]
                            return Self.withText(cookies) { cookies in
                                var settings = csluice_curl_request(
                                    url: address, method: method, proxy: proxy, user: user, password: password,
                                    may_use_digest: mayUseDigest, fields: fields, cookies: request.cookies?.storage,
                                    own_cookies: cookies, decodes: request.decodesContent,
                                    body_size: request.body.map { curl_off_t($0.count) } ?? -1,
                                    may_reuse: request.isIdempotent, context: Unmanaged.passUnretained(self).toOpaque())
                                return CURLcode(UInt32(csluice_curl_set_request(easy, &settings, errorText)))
                            }
                        }
                    }
                }
            }
        }
    }

    private static func withText<R>(_ text: String?, _ body: (UnsafePointer<CChar>?) -> R) -> R {
        if let text { text.withCString(body) } else { body(nil) }
    }

    private func append(_ line: String) -> Bool {
        guard let longer = curl_slist_append(fields, line) else { return false }
        fields = longer
        return true
    }

    // MARK: libcurl's callbacks, on the loop's thread

    private static func of(_ context: UnsafeMutableRawPointer?) -> CurlTransfer {
        Unmanaged<CurlTransfer>.fromOpaque(context!).takeUnretainedValue()
    }

    static let line: curl_write_callback = { bytes, _, count, context in
        let transfer = of(context)
        transfer.lastActivity = .now
        do throws(ResponseHeadParser.Malformed) {
            guard var head = try transfer.head.take(UnsafeRawBufferPointer(start: bytes, count: count)) else {
                return count
            }
            head.timings = TransportTimings(csluice_curl_get_times(transfer.easy))
            transfer.heldHead = head
            // Until the body begins, libcurl may still send the request again.
            if head.status != .unauthorized || !transfer.head.mayStartAgain { transfer.releaseHead() }
            return count
        } catch {
            let url = transfer.exchange.request.url
            transfer.exchange.failed(TransferError(.protocolViolation, url: url, detail: error.reason))
            // A count of 0 ends the transfer.
            return 0
        }
    }

    /// Reports the held head as the response's.
    private func releaseHead() {
        guard let head = heldHead.take() else { return }
        self.head.mayStartAgain = false
        exchange.receivedHead(head)
        driver.touch(self)
    }

    static let body: curl_write_callback = { bytes, _, count, context in
        let transfer = of(context)
        transfer.lastActivity = .now
        transfer.releaseHead()
        if transfer.exchange.request.decodesContent, transfer.expandsTooMuch(by: count) {
            transfer.exchange.failed(transfer.expandedTooMuch)
            return 0
        }
        switch transfer.exchange.offered() {
        case .taken:
            transfer.take(UnsafeRawBufferPointer(start: bytes, count: count))
            transfer.driver.touch(transfer)
            return count
        case .full:
            transfer.isPaused = true
            return Int(CURL_WRITEFUNC_PAUSE)
        case .unwanted:
            // A count of 0 ends the transfer. The command that removes it follows.
            return 0
        }
    }

    /// The most encoded bytes that are received at once: gzip decodes them to 17 MB.
    static let encodedPiece = 16 << 10

    /// gzip expands at most 1,032 times.
    private static let mostExpansion = 1100

    private var expandedTooMuch: TransferError {
        TransferError(
            .protocolViolation, url: exchange.request.url,
            detail: "its body expands more than \(Self.mostExpansion) times when it is decoded",
            remedy: "Ask for the body without compression, or report it to the server's operator.")
    }

    private func expandsTooMuch(by count: Int) -> Bool {
        // libcurl counts the bytes of a chunked body after it has decoded a whole buffer of them.
        arrived + count > (Int(csluice_curl_get_size(easy)) + ReceiveBlocks.size) * Self.mostExpansion
    }

    private func take(_ bytes: UnsafeRawBufferPointer) {
        arrived += bytes.count
        // Most bodies are small, and readers often keep them: a whole block would waste memory.
        if block == nil, arrived <= ReceiveBlocks.size || bytes.count < Self.smallPiece {
            return exchange.receivedChunk(Data(bytes))
        }
        var rest = bytes[...]
        while !rest.isEmpty {
            var (start, count) = block ?? (blocks.take(), 0)
            let next = rest.prefix(ReceiveBlocks.size - count)
            UnsafeMutableRawBufferPointer(start: start + count, count: next.count)
                .copyMemory(from: UnsafeRawBufferPointer(rebasing: next))
            rest = rest.dropFirst(next.count)
            count += next.count
            block = (start, count)
            if count == ReceiveBlocks.size { handOver() }
        }
    }

    func handOver() {
        guard let (start, count) = block else { return }
        block = nil
        exchange.receivedChunk(blocks.data(start, count: count))
    }

    static let upload: curl_read_callback = { into, size, count, context in
        let transfer = of(context)
        transfer.lastActivity = .now
        guard let body = transfer.exchange.request.body, transfer.sent < body.count else { return 0 }
        let next = body.dropFirst(transfer.sent).prefix(size * count)
        next.withUnsafeBytes { UnsafeMutableRawPointer(into!).copyMemory(from: $0.baseAddress!, byteCount: $0.count) }
        transfer.sent += next.count
        return next.count
    }

    /// `SEEK_SET` of stdio.h, which libcurl always passes.
    private static let seekSet: CInt = 0

    /// Rewinds the request's body, to resend the request over another connection.
    static let rewind: curl_seek_callback = { context, offset, origin in
        let transfer = of(context)
        guard origin == seekSet, let body = transfer.exchange.request.body, (0...body.count).contains(Int(offset))
        else {
            return CURL_SEEKFUNC_FAIL
        }
        transfer.sent = Int(offset)
        return CURL_SEEKFUNC_OK
    }

    // MARK: The end

    func ended(_ code: CURLcode) {
        handOver()
        guard code != CURLE_OK else {
            releaseHead()
            let total = csluice_curl_get_times(easy).now
            return exchange.finished(after: .microseconds(total), trailers: head.finish())
        }
        // Among other things, libcurl repeats parts of the proxy's URL.
        let text = Redaction(of: exchange.request, proxy: proxy).redacted(String(cString: errorText))
        let facts = csluice_curl_get_facts(easy)
        var error = TransferError(
            code, text: text.isEmpty ? nil : text, facts: facts, isProxied: !proxy.isEmpty,
            url: exchange.request.url)
        // libcurl keeps at most 64 MiB of a body that it decodes. 100 is CURLE_TOO_LARGE, which headers before 8.6 lack.
        if code == CURLE_OUT_OF_MEMORY || code == CURLcode(100), exchange.request.decodesContent, arrived > 0 {
            error = expandedTooMuch
        }
        let isUnreachable = error.code == .connectionFailed && error.cause == nil && facts.system_error == 0
        if let family = driver.addressFamily, error.code == .hostNotFound || isUnreachable {
            error = TransferError(
                error.code, url: error.url, detail: "only \(family == .ipv4 ? "IPv4" : "IPv6") addresses are used",
                remedy: "Check the spelling of the host name, or allow both versions of IP.")
        }
        exchange.failed(error)
    }

    func end() {
        handOver()
        curl_slist_free_all(fields)
        fields = nil
    }

    // MARK: Time

    /// When the server was last active, or when the request was sent if that is later. It's `nil` until the request is sent, because
    /// connecting has its own time limit.
    var activity: ContinuousClock.Instant? {
        let sent = csluice_curl_get_facts(easy).request_time
        return sent > 0 ? max(lastActivity, began + .microseconds(sent)) : nil
    }
}

extension TransportTimings {
    /// Call this only after the transfer's head has arrived.
    fileprivate init(_ times: csluice_curl_times) {
        self.init(
            firstByte: .microseconds(times.first_byte > 0 ? times.first_byte : times.now),
            isConnectionReused: times.connections == 0)
        guard times.connections > 0 else { return }
        nameLookup = .microseconds(times.lookup)
        connection = .microseconds(max(0, times.connection - times.lookup))
        if times.handshake > 0 { handshake = .microseconds(max(0, times.handshake - times.connection)) }
    }
}

// MARK: - Memory for long bodies

/// A pool of memory blocks of one size for long bodies. A block is allocated on one thread and freed on another. Without the pool, glibc
/// keeps returning the pages to the system, and page faults took an eighth of a long download's CPU time.
final class ReceiveBlocks: Sendable {
    /// The size of a block in bytes, which is also the size of libcurl's receive buffer.
    static let size = 64 << 10
    private static let mostIdle = 32

    private struct Block: @unchecked Sendable {
        // The pool's lock protects it. Nothing else refers to a block that is in the pool.
        var start: UnsafeMutableRawPointer
    }

    private let idle = Lock<[Block]>([])

    deinit {
        for block in idle.withLock({ $0 }) { block.start.deallocate() }
    }

    func take() -> UnsafeMutableRawPointer {
        idle.withLock { $0.popLast() }?.start ?? .allocate(byteCount: Self.size, alignment: 16)
    }

    /// Returns the first `count` bytes of a block. The block returns to the pool when the last copy of the data is dropped.
    func data(_ start: UnsafeMutableRawPointer, count: Int) -> Data {
        Data(bytesNoCopy: start, count: count, deallocator: .custom { start, _ in self.give(start) })
    }

    private func give(_ start: UnsafeMutableRawPointer) {
        let block = Block(start: start)
        let isKept = idle.withLock { idle in
            guard idle.count < Self.mostIdle else { return false }
            idle.append(block)
            return true
        }
        if !isKept { start.deallocate() }
    }
}
#endif
