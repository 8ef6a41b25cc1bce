// On Linux, only the tests compile this file, in a separate target, so that no product links FoundationNetworking.
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

/// Performs requests with URLSession, without a cache, cookies or stored credentials.
package final class URLSessionEngine: TransportEngine, ExchangeCarrier {
    private let session: URLSession
    private let delegate: Delegate
    private let unusable: (code: TransferError.Code, setting: String)?
    private let calls = SessionCalls()

    /// Creates an engine. If the configuration has a setting that URLSession doesn't support, each exchange fails.
    package init(_ configuration: HTTPTransport.Configuration) {
        unusable = Self.unusable(of: configuration)
        delegate = Delegate(stallTimeout: configuration.usableStallTimeout)
        let settings = URLSessionConfiguration.ephemeral
        settings.urlCache = nil
        settings.requestCachePolicy = .reloadIgnoringLocalCacheData
        settings.urlCredentialStorage = nil
        settings.httpCookieStorage = nil
        settings.httpShouldSetCookies = false
        settings.httpCookieAcceptPolicy = .never
        // The caller limits the number of exchanges, as with libcurl.
        settings.httpMaximumConnectionsPerHost = 256
        settings.timeoutIntervalForRequest = configuration.usableStallTimeout / .seconds(1)
        session = URLSession(configuration: settings, delegate: delegate, delegateQueue: nil)
    }

    private static func unusable(
        of configuration: HTTPTransport.Configuration
    ) -> (code: TransferError.Code, setting: String)? {
        if configuration.certificateAuthorities != nil { return (.tlsFailed, "certificateAuthorities") }
        if configuration.clientCertificate != nil { return (.tlsFailed, "clientCertificate") }
        if configuration.connections.choosesConnections { return (.connectionFailed, "connections") }
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
                    unusable.code, url: url, detail: "URLSession doesn't support \(unusable.setting)",
                    remedy:
                        "Remove \(unusable.setting) from the configuration, because the system's settings apply here."))
        }
        guard exchange.request.cookies == nil else {
            return fail(
                exchange,
                TransferError(
                    .connectionFailed, url: url, detail: "URLSession doesn't support a CookieJar",
                    remedy: "Remove the cookies from the request and the configuration."))
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
        calls.run { [self, request] in
            guard let task = delegate.add(exchange, { session.dataTask(with: request) }) else {
                return fail(exchange, TransferError(.shutDown, url: url))
            }
            // The reader may have closed the exchange before there was a task to cancel.
            if exchange.isOver { return task.cancel() }
            task.resume()
        }
    }

    private func fail(_ exchange: Exchange, _ error: TransferError) {
        exchange.failed(error)
        _ = exchange.deliver()
    }

    package func resume(_ exchange: Exchange) { delegate.resume(exchange) }

    package func stop(_ exchange: Exchange) { calls.run { [delegate] in delegate.task(of: exchange)?.cancel() } }

    package func retire() { calls.run { [session] in session.finishTasksAndInvalidate() } }

    package func shutdown() async {
        await delegate.ending { calls.run { [session] in session.invalidateAndCancel() } }
    }
}

/// Runs calls to a session's methods, one after another.
///
/// On Linux, these methods wait until the session's queue has run. That queue needs a thread from Dispatch's pool, which is also the
/// cooperative pool. If every thread in the pool waits in such a method, nothing runs until Dispatch notices, about a second later.
private struct SessionCalls: Sendable {
    #if canImport(Darwin)
    func run(_ call: () -> Void) { call() }
    #else
    // A serial queue's thread doesn't count toward the pool's limit.
    private let queue = DispatchQueue(label: "sluice.session-calls")

    func run(_ call: @escaping @Sendable () -> Void) { queue.async(execute: call) }
    #endif
}

extension URLSessionEngine {
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

        /// Creates a task with `make`. Returns `nil` after a shutdown, because an invalidated session traps when it creates a task.
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

        func resume(_ exchange: Exchange) { task(of: exchange).map(letOn) }

        /// Calls `body` only the first time, and returns once the session is invalid.
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
            if exchange.deliver() { letOn(task) }
        }

        // MARK: The session's calls

        func urlSession(
            _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
            newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
        ) {
            // Don't follow the redirect: the redirect itself is the response.
            completionHandler(nil)
        }

        func urlSession(
            _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
            completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
        ) {
            let methods = [NSURLAuthenticationMethodHTTPBasic, NSURLAuthenticationMethodHTTPDigest]
            // A server that rejects the credentials asks again.
            guard methods.contains(challenge.protectionSpace.authenticationMethod), challenge.previousFailureCount == 0,
                !challenge.protectionSpace.isProxy(), let credential = running(task)?.exchange.request.credential
            else { return completionHandler(.performDefaultHandling, nil) }
            completionHandler(
                .useCredential,
                URLCredential(user: credential.user, password: credential.password, persistence: .none))
        }

        func urlSession(
            _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
            completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
        ) {
            guard let running = running(dataTask), let response = response as? HTTPURLResponse else {
                return completionHandler(.cancel)
            }
            let exchange = running.exchange
            func refuse(_ detail: String) {
                exchange.failed(TransferError(.protocolViolation, url: exchange.request.url, detail: detail))
                _ = exchange.deliver()
                completionHandler(.cancel)
            }
            guard (100...999).contains(response.statusCode) else { return refuse("the status line isn't valid") }
            let maximumFields = HTTPTransport.maximumFields
            guard response.allHeaderFields.count <= maximumFields else {
                return refuse("its head has more than \(maximumFields) fields")
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
            guard let exchange = running(dataTask)?.exchange, !exchange.isOver else { return dropped(dataTask) }
            // URLSession can't hold on to these bytes, so the exchange takes them even if it is full, and the task is suspended.
            if case .full = exchange.offered() { holdBack(dataTask) }
            exchange.receivedChunk(data)
            deliver(exchange, dataTask)
        }

        // On Linux, suspending a task doesn't hold anything back, and traps if the task ends at the same time. Session methods must not be
        // called here anyway (see `SessionCalls`). A closed exchange has cancelled its task.
        #if canImport(Darwin)
        private func holdBack(_ task: URLSessionTask) { task.suspend() }
        private func letOn(_ task: URLSessionTask) { task.resume() }
        private func dropped(_ task: URLSessionTask) { task.cancel() }
        #else
        private func holdBack(_: URLSessionTask) {}
        private func letOn(_: URLSessionTask) {}
        private func dropped(_: URLSessionTask) {}
        #endif

        func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
            let running = state.withLock { state in
                let running = state.running.removeValue(forKey: task.taskIdentifier)
                if let running { state.tasks[ObjectIdentifier(running.exchange)] = nil }
                return running
            }
            guard let running else { return }
            let exchange = running.exchange
            if let error {
                exchange.failed(transportError(error, exchange.request, hasHead: task.response != nil))
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

        private func transportError(
            _ error: any Error, _ request: TransportRequest, hasHead: Bool
        ) -> TransferError {
            let url = request.url
            let cause = Redaction(of: request).redacted(error.localizedDescription)
            guard let failure = error as? URLError else {
                return TransferError(.connectionFailed, url: url, detail: cause)
            }
            if state.withLock({ $0.isShutDown }) { return TransferError(.shutDown, url: url) }
            return switch failure.code {
            case .timedOut:
                TransferError(.stalled, url: url, detail: "nothing arrived for \(stallTimeout / .seconds(1)) s")
            case .cannotFindHost, .dnsLookupFailed: TransferError(.hostNotFound, url: url)
            case .cannotConnectToHost: TransferError(.connectionRefused, url: url)
            // On Linux, a body that ends early is an error without a code.
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
