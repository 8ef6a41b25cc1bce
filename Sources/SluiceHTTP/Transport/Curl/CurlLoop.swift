#if !canImport(Darwin) || os(macOS)
import CSluiceCurl
import SluiceFiles
import SluiceLock
import Synchronization

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

    private struct State {
        var commands: [Command] = []
        /// The handle that the thread sleeps in; `nil` while there is no thread.
        var sleeper: Sleeper?
        var hasThread = false
        var sleeps = false
        var isClosed = false
        /// Whether no further exchange will start, so that the thread ends after the running ones.
        var isRetired = false
        var waitingForEnd: [CheckedContinuation<Void, Never>] = []
    }

    /// A multi handle that can only be woken, which is the one call that any thread may make while the handle exists
    /// (libcurl-thread(3)).
    private struct Sleeper: @unchecked Sendable {
        // The loop's thread removes the sleeper from the state, under the state's lock, before it frees the handle.
        var multi: UnsafeMutableRawPointer

        func wake() { curl_multi_wakeup(multi) }
    }

    private let configuration: HTTPTransport.Configuration
    private let state = Lock(State())
    private let open = Atomic(0)

    var openCount: Int { open.load(ordering: .relaxed) }

    init(_ configuration: HTTPTransport.Configuration) { self.configuration = configuration }

    // MARK: Any thread

    func start(_ exchange: Exchange) {
        open.add(1, ordering: .relaxed)
        send(.start(exchange, proxy: configuration.proxy.proxy(for: exchange.request.url) ?? ""))
    }

    func resume(_ exchange: Exchange) { send(.resume(exchange)) }

    func stop(_ exchange: Exchange) { send(.stop(exchange)) }

    private func send(_ command: Command) {
        let (startsThread, isRefused) = state.withLock { state -> (Bool, Bool) in
            // Without a thread there is no transfer to resume or to stop.
            guard state.hasThread || !state.isClosed && command.isStart else { return (false, true) }
            state.commands.append(command)
            if state.sleeps {
                state.sleeps = false
                state.sleeper?.wake()
            }
            defer { state.hasThread = true }
            return (!state.hasThread, false)
        }
        if isRefused { return refuse(command, .init(.shutDown, url: command.exchange.request.url)) }
        if startsThread { startThread() }
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
        refuseAll(
            detail: "no thread could be started", remedy: DetachedThread.missing(for: "transfers", -result).remedy)
        endThread()
    }

    /// Fails the commands of a loop that can't start. A later exchange tries to start the loop again.
    private func refuseAll(detail: String, remedy: String?) {
        let commands = state.withLock { state in
            defer { (state.commands, state.hasThread) = ([], false) }
            return state.commands
        }
        for command in commands {
            let url = command.exchange.request.url
            refuse(command, TransferError(.connectionFailed, url: url, detail: detail, remedy: remedy))
        }
    }

    private func run() {
        while true {
            guard let driver = CurlDriver(configuration, onEnd: { self.open.subtract(1, ordering: .relaxed) }) else {
                refuseAll(detail: "libcurl could not be started", remedy: "Check that enough memory is available.")
                break
            }
            let sleeper = Sleeper(multi: driver.multi)
            state.withLock { $0.sleeper = sleeper }
            let isClosed = drive(driver)
            state.withLock { $0.sleeper = nil }
            driver.end()
            let isOver = state.withLock { state in
                // Commands that arrived after `drive` last took them need a thread.
                if !isClosed, !state.commands.isEmpty { return false }
                state.hasThread = false
                return true
            }
            if isOver { break }
        }
        endThread()
    }

    private func endThread() {
        let (waiting, commands) = state.withLock { state in
            defer { (state.waitingForEnd, state.commands) = ([], []) }
            return (state.isClosed ? state.waitingForEnd : [], state.isClosed ? state.commands : [])
        }
        for command in commands { refuse(command, .init(.shutDown, url: command.exchange.request.url)) }
        for continuation in waiting { continuation.resume() }
    }

    /// Drives transfers. Returns true when the loop is closed, and false when it was idle for long enough or is retired and idle.
    private func drive(_ driver: CurlDriver) -> Bool {
        while true {
            let (commands, isClosed) = state.withLock { state in
                defer { state.commands = [] }
                return (state.commands, state.isClosed)
            }
            for command in commands { driver.take(command) }
            if isClosed {
                driver.failAll { TransferError(.shutDown, url: $0) }
                return true
            }
            driver.perform()
            guard let limit = driver.timeToSleep else { return false }
            let (sleeps, isRetired) = state.withLock { state in
                state.sleeps = state.commands.isEmpty && !state.isClosed
                return (state.sleeps, state.isRetired)
            }
            if sleeps, isRetired, driver.isIdle { return false }
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
