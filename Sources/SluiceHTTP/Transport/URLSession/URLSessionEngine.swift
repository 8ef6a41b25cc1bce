// Linux compiles this file for the tests alone, as a target of its own: no product links FoundationNetworking.
#if SLUICE_URLSESSION || canImport(Darwin) && !os(macOS)
import Foundation
#if canImport(FoundationNetworking)
import FoundationNetworking
#endif
import HTTPTypes
import SluiceLock
#if SLUICE_URLSESSION
package import SluiceHTTP
#endif

/// Carries requests with URLSession, which keeps nothing: no cache, no cookies, no passwords.
package final class URLSessionEngine: TransportEngine, ExchangeCarrier {
    private let session: URLSession
    private let delegate: Delegate
    private let unusable: (code: TransferError.Code, setting: String)?

    /// An engine. What of the configuration URLSession has no means for fails each exchange.
    package init(_ configuration: HTTPTransport.Configuration) {
        unusable = Self.unusable(of: configuration)
        delegate = Delegate(stallTimeout: configuration.stallTimeout)
        let settings = URLSessionConfiguration.ephemeral
        settings.urlCache = nil
        settings.requestCachePolicy = .reloadIgnoringLocalCacheData
        settings.urlCredentialStorage = nil
        settings.httpCookieStorage = nil
        settings.httpShouldSetCookies = false
        settings.httpCookieAcceptPolicy = .never
        // How many exchanges there are is the caller's affair, as with libcurl.
        settings.httpMaximumConnectionsPerHost = 256
        settings.timeoutIntervalForRequest = configuration.stallTimeout / .seconds(1)
        session = URLSession(configuration: settings, delegate: delegate, delegateQueue: nil)
    }

    private static func unusable(
        of configuration: HTTPTransport.Configuration
    ) -> (code: TransferError.Code, setting: String)? {
        if configuration.certificateAuthorities != nil { return (.tlsFailed, "certificateAuthorities") }
        if configuration.clientCertificate != nil { return (.tlsFailed, "clientCertificate") }
        if ![.none, .environment].contains(configuration.proxy) { return (.proxyFailed, "proxy") }
        return nil
    }

    package var carrier: any ExchangeCarrier { self }

    package func start(_ exchange: Exchange) {
        let url = exchange.request.url
        if let unusable {
            return fail(
                exchange,
                TransferError(
                    unusable.code, url: url, detail: "URLSession takes no \(unusable.setting)",
                    remedy: "Leave it out of the configuration: the system's settings hold on this platform."))
        }
        guard let address = URL(string: exchange.address) else {
            return fail(exchange, TransferError(.invalidURL, url: url))
        }
        var request = URLRequest(url: address)
        request.httpMethod = exchange.request.method.rawValue
        request.httpBody = exchange.request.body
        for field in exchange.request.headerFields {
            request.addValue(field.value, forHTTPHeaderField: field.name.rawName)
        }
        guard let task = delegate.add(exchange, { session.dataTask(with: request) }) else {
            return fail(exchange, TransferError(.shutDown, url: url))
        }
        // The reader may have left before there was a task to cancel.
        if exchange.isOver { return task.cancel() }
        task.resume()
    }

    private func fail(_ exchange: Exchange, _ error: TransferError) {
        exchange.failed(error)
        _ = exchange.deliver()
    }

    package func resume(_ exchange: Exchange) { delegate.resume(exchange) }

    package func stop(_ exchange: Exchange) { delegate.task(of: exchange)?.cancel() }

    package func retire() { session.finishTasksAndInvalidate() }

    package func shutdown() async {
        await delegate.ending { session.invalidateAndCancel() }
    }
}

extension URLSessionEngine {
    /// Hears of all tasks, on the serial queue of its session.
    private final class Delegate: NSObject, URLSessionDataDelegate {
        private struct Running {
            var exchange: Exchange
            let began = ContinuousClock.now

            var elapsed: Duration { began.duration(to: .now) }
        }

        private struct State {
            var running: [Int: Running] = [:]
            var tasks: [ObjectIdentifier: URLSessionDataTask] = [:]
            var isShutDown = false
            var isOver = false
            var waitingForEnd: [CheckedContinuation<Void, Never>] = []
        }

        private let stallTimeout: Duration
        private let state = Lock(State())

        init(stallTimeout: Duration) { self.stallTimeout = stallTimeout }

        /// Nil if the session was shut down: it traps when it is asked for a task.
        func add(_ exchange: Exchange, _ make: () -> URLSessionDataTask) -> URLSessionDataTask? {
            state.withLock { state in
                if state.isShutDown { return nil }
                let task = make()
                state.running[task.taskIdentifier] = Running(exchange: exchange)
                state.tasks[ObjectIdentifier(exchange)] = task
                return task
            }
        }

        func task(of exchange: Exchange) -> URLSessionDataTask? {
            state.withLock { $0.tasks[ObjectIdentifier(exchange)] }
        }

        func resume(_ exchange: Exchange) { task(of: exchange)?.resume() }

        /// Calls `body` once, and returns when the session has told of its end.
        func ending(_ body: () -> Void) async {
            let isFirst = state.withLock { state in
                defer { state.isShutDown = true }
                return !state.isShutDown
            }
            if isFirst { body() }
            await withCheckedContinuation { continuation in
                let isOver = state.withLock { state in
                    if !state.isOver { state.waitingForEnd.append(continuation) }
                    return state.isOver
                }
                if isOver { continuation.resume() }
            }
        }

        private func running(_ task: URLSessionTask) -> Running? {
            state.withLock { $0.running[task.taskIdentifier] }
        }

        private func deliver(_ exchange: Exchange, _ task: URLSessionTask) {
            if exchange.deliver() { task.resume() }
        }

        // MARK: What the session tells

        func urlSession(
            _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
            newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
        ) {
            // The redirect itself is the response.
            completionHandler(nil)
        }

        func urlSession(
            _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
            completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
        ) {
            guard let running = running(dataTask), let response = response as? HTTPURLResponse else {
                return completionHandler(.cancel)
            }
            let exchange = running.exchange
            guard (100...999).contains(response.statusCode) else {
                exchange.failed(
                    TransferError(
                        .protocolViolation, url: exchange.request.url, detail: "the status line is not valid"))
                _ = exchange.deliver()
                return completionHandler(.cancel)
            }
            var fields = HTTPFields()
            for (name, value) in response.allHeaderFields {
                guard let name = HTTPField.Name("\(name)") else { continue }
                fields.append(HTTPField(name: name, value: "\(value)"))
            }
            exchange.receivedHead(
                ResponseHead(
                    status: HTTPResponse.Status(code: response.statusCode), headerFields: fields,
                    timings: TransportTimings(firstByte: running.elapsed)))
            deliver(exchange, dataTask)
            completionHandler(.allow)
        }

        func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
            guard let exchange = running(dataTask)?.exchange, !exchange.isOver else { return dataTask.cancel() }
            // URLSession cannot be asked to keep these bytes: they are taken, and the next ones held back.
            if case .full = exchange.offered() { holdBack(dataTask) }
            exchange.receivedChunk(data)
            deliver(exchange, dataTask)
        }

        private func holdBack(_ task: URLSessionTask) {
            // On Linux it holds nothing back, and traps if the task ends at the same time.
            #if canImport(Darwin)
            task.suspend()
            #endif
        }

        func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
            let running = state.withLock { state in
                let running = state.running.removeValue(forKey: task.taskIdentifier)
                if let running { state.tasks[ObjectIdentifier(running.exchange)] = nil }
                return running
            }
            guard let running else { return }
            let exchange = running.exchange
            if let error {
                exchange.failed(transportError(error, exchange.request.url, hasHead: task.response != nil))
            } else {
                exchange.finished(after: running.elapsed)
            }
            _ = exchange.deliver()
        }

        func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?) {
            let waiting = state.withLock { state in
                defer { state.waitingForEnd = [] }
                (state.isOver, state.isShutDown) = (true, true)
                return state.waitingForEnd
            }
            for continuation in waiting { continuation.resume() }
        }

        private func transportError(_ error: any Error, _ url: URL, hasHead: Bool) -> TransferError {
            guard let failure = error as? URLError else {
                return TransferError(.connectionFailed, url: url, detail: error.localizedDescription)
            }
            if state.withLock({ $0.isShutDown }) { return TransferError(.shutDown, url: url) }
            let cause = failure.localizedDescription
            return switch failure.code {
            case .timedOut:
                TransferError(.stalled, url: url, detail: "nothing arrived for \(stallTimeout / .seconds(1)) s")
            case .cannotFindHost, .dnsLookupFailed: TransferError(.hostNotFound, url: url)
            case .cannotConnectToHost: TransferError(.connectionRefused, url: url)
            // On Linux a body that ends early is an error without a code.
            case .unknown where hasHead: TransferError(.connectionClosed, url: url)
            case .networkConnectionLost: TransferError(.connectionClosed, url: url)
            case .badServerResponse, .cannotParseResponse, .cannotDecodeRawData, .cannotDecodeContentData:
                TransferError(.protocolViolation, url: url, detail: cause)
            case .badURL, .unsupportedURL: TransferError(.invalidURL, url: url, detail: cause)
            case .secureConnectionFailed, .serverCertificateUntrusted, .serverCertificateHasBadDate,
                .serverCertificateHasUnknownRoot, .serverCertificateNotYetValid, .clientCertificateRejected,
                .clientCertificateRequired, .appTransportSecurityRequiresSecureConnection:
                TransferError(.tlsFailed, url: url, detail: cause)
            default: TransferError(.connectionFailed, url: url, detail: cause)
            }
        }
    }
}
#endif
