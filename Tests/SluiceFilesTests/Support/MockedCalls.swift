import Dispatch
import Foundation
import SluiceFiles
import TestSupport

/// The calls, in order.
final class CallLog: Sendable {
    private let lines = Guarded<[String]>([])

    func add(_ line: String) { lines.withLock { $0.append(line) } }
    var all: [String] { lines.withLock { $0 } }
    func count(_ line: String) -> Int { all.count { $0 == line } }
}

extension SystemCalls {
    /// The kernel, with one call that always fails. `.write` includes gathered writes.
    static func failing(_ call: Call, with number: CInt) -> SystemCalls {
        var calls = SystemCalls.system
        calls.fail(call, with: number)
        return calls
    }

    mutating func fail(_ call: Call, with number: CInt) {
        self = intercepted { made in
            made == call || (call == .write && made == .writeVector) ? number : nil
        }
    }

    /// The kernel, with a log of the calls that change files.
    static func recorded(in log: CallLog) -> SystemCalls {
        let real = SystemCalls.system
        var calls = real
        calls.open = { path, flags, mode in
            log.add(flags & O_DIRECTORY != 0 ? "open directory" : flags & O_CREAT != 0 ? "create" : "open")
            return real.open(path, flags, mode)
        }
        calls.close = {
            log.add("close"); return real.close($0)
        }
        calls.write = {
            log.add("write"); return real.write($0, $1)
        }
        calls.writeVector = {
            log.add("writev \($1.count)"); return real.writeVector($0, $1)
        }
        calls.changeMode = {
            log.add("chmod"); return real.changeMode($0, $1)
        }
        calls.sync = {
            log.add("fsync"); return real.sync($0)
        }
        calls.syncData = {
            log.add("fdatasync"); return real.syncData($0)
        }
        calls.syncDirectory = {
            log.add("fsync directory"); return real.syncDirectory($0)
        }
        calls.rename = {
            log.add("rename"); return real.rename($0, $1)
        }
        calls.renameWithoutReplacing = {
            log.add("rename noreplace"); return real.renameWithoutReplacing($0, $1)
        }
        calls.link = {
            log.add("link"); return real.link($0, $1)
        }
        calls.unlink = {
            log.add("unlink"); return real.unlink($0)
        }
        calls.lock = {
            log.add("lock"); return real.lock($0, $1)
        }
        calls.unlock = {
            log.add("unlock"); return real.unlock($0)
        }
        calls.truncate = {
            log.add("truncate"); return real.truncate($0, $1)
        }
        return calls
    }
}

/// Blocks threads of a lane inside a mocked call until the test releases them.
final class ThreadGate: Sendable {
    private let semaphore = DispatchSemaphore(value: 0)
    private let isOpen = Guarded(false)
    private let arrivals = AsyncStream.makeStream(of: Void.self)

    /// Called on the lane's thread.
    func pass() {
        arrivals.continuation.yield()
        if isOpen.withLock({ $0 }) { return }
        semaphore.wait()
        semaphore.signal()
    }

    /// Waits until `count` threads are inside.
    func waitForThreads(_ count: Int) async {
        var seen = 0
        for await _ in arrivals.stream {
            seen += 1
            if seen == count { return }
        }
    }

    func open() {
        isOpen.withLock { $0 = true }
        semaphore.signal()
    }

    /// The kernel, with every open blocked here first.
    func beforeOpen() -> SystemCalls {
        var calls = SystemCalls.system
        calls.open = { path, flags, mode in
            self.pass()
            return SystemCalls.system.open(path, flags, mode)
        }
        return calls
    }
}

/// Returns the system's name of the calling thread.
func nameOfThisThread() -> String {
    let name = try? String(contentsOfFile: "/proc/thread-self/comm", encoding: .utf8)
    return name?.trimmingCharacters(in: .newlines) ?? "unknown"
}
