#if !canImport(Darwin) || os(macOS)
import CSluiceHTTP
import SluiceFiles
import SluiceLock
import Synchronization

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Performs requests with libcurl, on one thread, or on two when exchanges run concurrently.
///
/// The thread copies every byte from the kernel into the reader's memory. With a single thread, one core would be busy while another is
/// idle (decision 0023). Each thread has its own connections. CSluiceHTTP sets libcurl's options (Curl.c), such as the HTTP version.
final class CurlEngine: TransportEngine {
    private let loops: [CurlLoop]

    init(
        _ configuration: HTTPTransport.Configuration,
        loopCount: Int = min(2, ProcessInfo.processInfo.activeProcessorCount)
    ) {
        loops = (0..<max(1, loopCount)).map { _ in CurlLoop(configuration) }
    }

    /// The loop with the fewest exchanges. Ties go to the first loop, so that consecutive requests share connections.
    var carrier: any ExchangeCarrier {
        guard let first = loops.first else { preconditionFailure("An engine must have at least one loop.") }
        return loops.dropFirst().reduce(first) { least, loop in loop.openCount < least.openCount ? loop : least }
    }

    func retire() {
        for loop in loops { loop.retire() }
    }

    func shutdown() async {
        for loop in loops { await loop.shutdown() }
    }
}

// MARK: - The loop

/// A thread that drives transfers with libcurl's multi interface (libcurl-multi(3)).
///
/// Other threads append commands to an array under a lock, and wake the thread only if it sleeps. The thread starts with the first
/// command. It ends, and closes its connections, when the loop is closed or has been idle for a while.
final class CurlLoop: ExchangeCarrier {
    enum Command: Sendable {
        /// Starts an exchange. `proxy` is the URL of its proxy, or "" for none.
        case start(Exchange, proxy: String)
        case resume(Exchange)
        case stop(Exchange)
    }

    struct State {
        var commands: [Command] = []
        /// The handle that the thread sleeps in; `nil` while there is no thread.
        var sleeper: Sleeper?
        var hasThread = false
        var sleeps = false
        var isClosed = false
        /// Whether no further exchange will start, so that the thread ends after the running ones.
        var isRetired = false
        var waitingForEnd: [CheckedContinuation<Void, Never>] = []

        /// Notes that the thread ends, and returns what it leaves behind. This must be atomic: a later command starts another thread, and
        /// this thread must not take that command.
        mutating func threadEnds() -> Remains {
            defer { (commands, waitingForEnd, hasThread) = ([], [], false) }
            return Remains(commands: commands, waitingForEnd: waitingForEnd)
        }
    }

    struct Remains {
        /// The commands that the thread hasn't taken, and can no longer execute.
        var commands: [Command]
        /// The callers of `shutdown`.
        var waitingForEnd: [CheckedContinuation<Void, Never>]
    }

    /// A multi handle that can only be woken up, the one call that any thread may make while the handle exists (libcurl-thread(3)).
    final class Sleeper: Sendable {
        private struct Multi: @unchecked Sendable {
            // The lock keeps the handle from being freed during a call.
            var handle: UnsafeMutableRawPointer
        }

        // Not the state's lock: the woken thread takes that one immediately, and would wait until the call has returned.
        private let multi: Lock<Multi?>

        init(_ handle: UnsafeMutableRawPointer) { multi = Lock(Multi(handle: handle)) }

        func wake() {
            multi.withLock { multi in
                if let multi { curl_multi_wakeup(multi.handle) }
            }
        }

        /// Must be called before the handle is freed.
        func forget() { multi.withLock { $0 = nil } }
    }

    private let configuration: HTTPTransport.Configuration
    private let state = Lock(State())
    private let open = Atomic(0)

    var openCount: Int { open.load(ordering: .relaxed) }

    init(_ configuration: HTTPTransport.Configuration) { self.configuration = configuration }

    // MARK: Any thread

    func start(_ exchange: Exchange) {
        open.add(1, ordering: .relaxed)
        let proxy =
            configuration.connections.unixSocket == nil ? configuration.proxy.proxy(for: exchange.request.url) : nil
        send(.start(exchange, proxy: proxy ?? ""))
    }

    func resume(_ exchange: Exchange) { send(.resume(exchange)) }

    func stop(_ exchange: Exchange) { send(.stop(exchange)) }

    private func send(_ command: Command) {
        enum Next { case nothing, refuse, startThread, wake(Sleeper?) }
        let next = state.withLock { state -> Next in
            // Without a thread, there is no transfer to resume or stop.
            guard state.hasThread || !state.isClosed && command.isStart else { return .refuse }
            state.commands.append(command)
            guard state.hasThread else {
                state.hasThread = true
                return .startThread
            }
            guard state.sleeps else { return .nothing }
            state.sleeps = false
            return .wake(state.sleeper)
        }
        switch next {
        case .nothing: break
        case .refuse: refuse(command, .init(.shutDown, url: command.exchange.request.url))
        case .startThread: startThread()
        case .wake(let sleeper): sleeper?.wake()
        }
    }

    private func refuse(_ command: Command, _ error: TransferError) {
        guard case .start(let exchange, _) = command else { return }
        open.subtract(1, ordering: .relaxed)
        exchange.failed(error)
        _ = exchange.deliver()
    }

    func retire() {
        state.withLock { state in
            state.isRetired = true
            state.sleeper?.wake()
        }
    }

    func shutdown() async {
        await withCheckedContinuation { continuation in
            let isOver = state.withLock { state in
                state.isClosed = true
                state.sleeps = false
                state.sleeper?.wake()
                if !state.hasThread { return true }
                state.waitingForEnd.append(continuation)
                return false
            }
            if isOver { continuation.resume() }
        }
    }

    // MARK: The thread

    private func startThread() {
        let result = DetachedThread.start(stackSize: 1 << 20) { self.run() }
        if result == 0 { return }
        threadFailed(
            detail: "no thread could be started", remedy: DetachedThread.missing(for: "transfers", -result).remedy)
    }

    private func run() {
        while true {
            guard let driver = CurlDriver(configuration, onEnd: { self.open.subtract(1, ordering: .relaxed) }) else {
                return threadFailed(
                    detail: "libcurl couldn't be started", remedy: "Check that enough memory is available.")
            }
            let sleeper = Sleeper(driver.multi)
            state.withLock { $0.sleeper = sleeper }
            drive(driver)
            state.withLock { $0.sleeper = nil }
            sleeper.forget()
            driver.end()
            let remains = state.withLock { state in
                // Commands that arrived after `drive` last took them need a thread.
                state.isClosed || state.commands.isEmpty ? state.threadEnds() : nil
            }
            if let remains { return end(remains) { TransferError(.shutDown, url: $0) } }
        }
    }

    /// Fails the commands of a thread that can't run. A later exchange tries to start another.
    private func threadFailed(detail: String, remedy: String?) {
        end(state.withLock { $0.threadEnds() }) {
            TransferError(.connectionFailed, url: $0, detail: detail, remedy: remedy)
        }
    }

    private func end(_ remains: Remains, refusingWith error: (URL) -> TransferError) {
        for command in remains.commands { refuse(command, error(command.exchange.request.url)) }
        for continuation in remains.waitingForEnd { continuation.resume() }
    }

    /// Drives transfers until the loop is closed, has been idle for long enough, or is retired and idle.
    private func drive(_ driver: CurlDriver) {
        while true {
            let (commands, isClosed) = state.withLock { state in
                defer { state.commands = [] }
                return (state.commands, state.isClosed)
            }
            for command in commands { driver.take(command) }
            if isClosed {
                driver.failAll { TransferError(.shutDown, url: $0) }
                return
            }
            driver.perform()
            guard let limit = driver.timeToSleep else { return }
            let (sleeps, isRetired) = state.withLock { state in
                state.sleeps = state.commands.isEmpty && !state.isClosed
                return (state.sleeps, state.isRetired)
            }
            if sleeps, isRetired, driver.isIdle { return }
            if sleeps {
                driver.sleep(atMost: limit)
                state.withLock { $0.sleeps = false }
            }
        }
    }
}

extension CurlLoop.Command {
    fileprivate var isStart: Bool {
        if case .start = self { true } else { false }
    }

    var exchange: Exchange {
        switch self {
        case .start(let exchange, _), .resume(let exchange), .stop(let exchange): exchange
        }
    }
}
#endif
