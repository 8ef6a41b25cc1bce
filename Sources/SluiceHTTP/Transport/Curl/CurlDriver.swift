#if !canImport(Darwin) || os(macOS)
import CSluiceHTTP
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif
import HTTPTypes

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// The transfers of a loop. Only the loop's thread uses the driver.
final class CurlDriver {
    typealias Handle = UnsafeMutableRawPointer

    private static let idleTime = Duration.seconds(30)

    let multi: Handle
    private let configuration: HTTPTransport.Configuration
    private let stallTimeout: Duration
    private let blocks = ReceiveBlocks()
    let recentFields = RecentFields()
    /// The fixed addresses in libcurl's form. The handles refer to them.
    private var addresses: UnsafeMutablePointer<curl_slist>?
    /// Called at the end of each started exchange, before its reader is resumed.
    private let onEnd: () -> Void
    private var transfers: [ObjectIdentifier: CurlTransfer] = [:]
    private var touched: [CurlTransfer] = []
    private var idleHandles: [Handle] = []
    /// The origins that asked for Basic authentication alone. They get the password with each request, instead of after a 401.
    private var basicOrigins: Set<String> = []
    private static let mostBasicOrigins = 1000
    private var nextLook: ContinuousClock.Instant?
    private var lastBusy = ContinuousClock.now

    init?(_ configuration: HTTPTransport.Configuration, onEnd: @escaping () -> Void) {
        let multiplexes = configuration.connections.version == .http2
        guard csluice_curl_prepare() == 0, let multi = csluice_curl_multi(256, multiplexes) else { return nil }
        self.multi = multi
        self.configuration = configuration
        stallTimeout = configuration.usableStallTimeout
        for address in configuration.connections.fixedAddresses {
            guard let longer = curl_slist_append(addresses, address.description) else { break }
            addresses = longer
        }
        self.onEnd = onEnd
    }

    var addressFamily: ConnectionSettings.AddressFamily? { configuration.connections.addressFamily }

    // MARK: Commands

    func take(_ command: CurlLoop.Command) {
        switch command {
        case .start(let exchange, let proxy): start(exchange, proxy)
        case .resume(let exchange):
            guard let transfer = transfers[ObjectIdentifier(exchange)] else { return }
            resume(transfer)
        case .stop(let exchange):
            guard let transfer = transfers[ObjectIdentifier(exchange)] else { return }
            remove(transfer)
        }
    }

    private func start(_ exchange: Exchange, _ proxy: String) {
        // The reader may have closed the exchange before the loop took the command.
        if exchange.isOver { return onEnd() }
        // libcurl would repeat it in its error text. It would also ignore some invalid proxies, and send the request without a proxy.
        if let problem = ProxySettings.problem(of: proxy) {
            return fail(
                exchange, .init(.proxyFailed, url: exchange.request.url, detail: problem, remedy: ProxySettings.remedy))
        }
        if let problem = configuration.connections.problem() {
            return fail(
                exchange,
                .init(.connectionFailed, url: exchange.request.url, detail: problem.detail, remedy: problem.remedy))
        }
        let isOrdinary = exchange.request.isOrdinary
        guard let easy = (isOrdinary ? idleHandles.popLast() : nil) ?? makeHandle(for: exchange.request) else {
            return fail(exchange, CURLE_OUT_OF_MEMORY)
        }
        let transfer = CurlTransfer(exchange, easy, proxy: proxy, blocks: blocks, driver: self)
        let isBasic = exchange.request.credential != nil && basicOrigins.contains(exchange.request.url.origin)
        let result = transfer.prepare(mayUseDigest: !isBasic)
        guard result == CURLE_OK, curl_multi_add_handle(multi, easy) == CURLM_OK else {
            if isOrdinary { idleHandles.append(easy) } else { curl_easy_cleanup(easy) }
            return fail(exchange, result == CURLE_OK ? CURLE_OUT_OF_MEMORY : result)
        }
        transfers[ObjectIdentifier(exchange)] = transfer
        lookAgain(at: transfer.lastActivity + stallTimeout)
    }

    private func fail(_ exchange: Exchange, _ code: CURLcode) {
        let url = exchange.request.url
        fail(exchange, .init(code, text: nil, facts: csluice_curl_facts(), isProxied: false, url: url))
    }

    private func fail(_ exchange: Exchange, _ error: TransferError) {
        onEnd()
        exchange.failed(error)
        _ = exchange.deliver()
    }

    private func resume(_ transfer: CurlTransfer) {
        transfer.lastActivity = .now
        guard transfer.isPaused else { return }
        transfer.isPaused = false
        csluice_curl_resume(transfer.easy)
        lookAgain(at: transfer.lastActivity + stallTimeout)
    }

    private func makeHandle(for request: TransportRequest) -> Handle? {
        let connections = configuration.connections
        // libcurl copies the texts.
        let texts = [
            configuration.certificateAuthorities?.path(percentEncoded: false),
            configuration.clientCertificate?.path(percentEncoded: false),
            configuration.clientKey?.path(percentEncoded: false), connections.interfaceForCurl, connections.unixSocket,
            configuration.proxy.exceptions,
        ].map { $0.flatMap { strdup($0) } }
        defer { for text in texts { free(text) } }
        var settings = csluice_curl_settings(
            connect_milliseconds: configuration.connectTimeout.wholeMilliseconds,
            buffer_size: request.decodesContent ? CurlTransfer.encodedPiece : ReceiveBlocks.size, no_proxy: texts[5]!,
            ca_file: texts[0], certificate: texts[1], key: texts[2],
            may_use_http2: connections.version == .http2, ip_version: Self.resolution(connections.addressFamily),
            addresses: addresses, interface: texts[3], unix_socket: texts[4], line: CurlTransfer.line,
            body: CurlTransfer.body, upload: CurlTransfer.upload, rewind: CurlTransfer.rewind)
        return csluice_curl_easy(&settings)
    }

    private static func resolution(_ family: ConnectionSettings.AddressFamily?) -> Int {
        switch family {
        case .ipv4: Int(CURL_IPRESOLVE_V4)
        case .ipv6: Int(CURL_IPRESOLVE_V6)
        case nil: Int(CURL_IPRESOLVE_WHATEVER)
        }
    }

    private func remove(_ transfer: CurlTransfer) {
        transfers[ObjectIdentifier(transfer.exchange)] = nil
        // While other streams use the connection, libcurl 7.88 keeps the bytes that it holds back for a paused transfer. It would leak them, or
        // deliver them to the next transfer with this handle. The exchange is over, so the callback refuses them now.
        let wasPaused = transfer.isPaused
        transfer.isPaused = false
        if wasPaused { csluice_curl_resume(transfer.easy) }
        curl_multi_remove_handle(multi, transfer.easy)
        transfer.end()
        onEnd()
        let request = transfer.exchange.request
        if request.credential != nil { noteAuthentication(of: transfer) }
        // If the connection ended while the transfer was paused, the bytes are still there.
        if !request.isOrdinary || wasPaused { return curl_easy_cleanup(transfer.easy) }
        idleHandles.append(transfer.easy)
        if idleHandles.count > 64, let easy = idleHandles.popLast() { curl_easy_cleanup(easy) }
    }

    private func noteAuthentication(of transfer: CurlTransfer) {
        guard csluice_curl_asked_for_basic_only(transfer.easy) else { return }
        if basicOrigins.count >= Self.mostBasicOrigins { basicOrigins = [] }
        basicOrigins.insert(transfer.exchange.request.url.origin)
    }

    // MARK: Driving

    func touch(_ transfer: CurlTransfer) {
        guard !transfer.isTouched else { return }
        transfer.isTouched = true
        touched.append(transfer)
    }

    /// Does all work that is possible without waiting, and resumes the waiting tasks.
    func perform() {
        var running: CInt = 0
        curl_multi_perform(multi, &running)
        var code: CInt = 0
        while let easy = csluice_curl_next_ended(multi, &code) {
            guard let context = csluice_curl_context(easy) else { continue }
            let transfer = Unmanaged<CurlTransfer>.fromOpaque(context).takeUnretainedValue()
            transfer.ended(CURLcode(UInt32(code)))
            touch(transfer)
            remove(transfer)
        }
        look()
        deliver()
        if !transfers.isEmpty { lastBusy = .now }
    }

    private func deliver() {
        while !touched.isEmpty {
            let transfers = touched
            touched.removeAll(keepingCapacity: true)
            for transfer in transfers {
                transfer.isTouched = false
                transfer.handOver()
                // Resuming may produce more bytes, which the next round delivers.
                if transfer.exchange.deliver() { resume(transfer) }
            }
        }
    }

    func failAll(_ error: (URL) -> TransferError) {
        for transfer in transfers.values {
            transfer.exchange.failed(error(transfer.exchange.request.url))
            touch(transfer)
            remove(transfer)
        }
        deliver()
    }

    /// Frees the handles. All transfers must have ended.
    func end() {
        precondition(transfers.isEmpty, "A driver must have no transfers when it ends; it has \(transfers.count).")
        for easy in idleHandles { curl_easy_cleanup(easy) }
        curl_multi_cleanup(multi)
        curl_slist_free_all(addresses)
    }

    // MARK: Time

    var isIdle: Bool { transfers.isEmpty }

    /// How long the loop may sleep if nothing arrives, or `nil` if it has been idle for long enough to end.
    var timeToSleep: Duration? {
        let now = ContinuousClock.now
        if transfers.isEmpty {
            let left = Self.idleTime - (now - lastBusy)
            return left > .zero ? left : nil
        }
        return max(.zero, min(.seconds(60), nextLook.map { $0 - now } ?? .seconds(60)))
    }

    func sleep(atMost limit: Duration) {
        // libcurl's own timers may end the sleep earlier.
        curl_multi_poll(multi, nil, 0, CInt(limit.wholeMilliseconds), nil)
    }

    private func lookAgain(at time: ContinuousClock.Instant) {
        nextLook = nextLook.map { min($0, time) } ?? time
    }

    /// Fails the exchanges whose server has been silent for too long. Does nothing until the first one can be due.
    private func look() {
        guard let next = nextLook else { return }
        let now = ContinuousClock.now
        guard now >= next else { return }
        nextLook = nil
        for transfer in transfers.values {
            let due = (transfer.activity ?? now) + stallTimeout
            if due > now || !transfer.exchange.awaitsServer {
                lookAgain(at: max(due, now + min(stallTimeout, .seconds(1))))
                continue
            }
            let cause = "nothing arrived for \(stallTimeout.inSeconds)"
            transfer.exchange.failed(TransferError(.stalled, url: transfer.exchange.request.url, detail: cause))
            touch(transfer)
            remove(transfer)
        }
    }
}

extension TransportRequest {
    /// Whether another request can use the handle of this one. A handle remembers the server's challenge, which is wrong for another server,
    /// and its cookies; the buffer of a handle that decodes is smaller.
    fileprivate var isOrdinary: Bool { credential == nil && cookies == nil && !decodesContent }
}

extension Duration {
    /// The duration in milliseconds, rounded up and limited to the range of a C int.
    var wholeMilliseconds: Int {
        Int(min(self / .milliseconds(1), Double(CInt.max) - 1).rounded(.up))
    }

    /// "30 s" or "0.5 s".
    var inSeconds: String {
        let seconds = self / .seconds(1)
        return Int(exactly: seconds).map { "\($0) s" } ?? "\(seconds) s"
    }
}
#endif
