import Foundation
import SluiceConcurrency

/// A process that a test kills or stops, of a program that was built with the tests.
struct Victim: Sendable {
    private let process = Process()
    private let ended: Condition
    private let errors = Pipe()

    /// Starts the program and passes its process id to `begun`, so that other code may kill it.
    init(_ program: URL, _ arguments: [String], begun: (pid_t) -> Void = { _ in }) throws {
        let (ended, end) = Condition.makeCondition()
        self.ended = ended
        process.executableURL = program
        process.arguments = arguments
        process.standardError = errors
        process.standardOutput = FileHandle.nullDevice
        process.terminationHandler = { _ in end.signal() }
        try process.run()
        begun(process.processIdentifier)
    }

    var pid: pid_t { process.processIdentifier }

    /// How a process ended.
    struct End {
        /// Whether it was killed, by SIGKILL.
        var wasKilled: Bool
        /// Its exit status otherwise.
        var status: Int32
        /// What it wrote to standard error.
        var errors: String

        /// The jobs that a `CrashWorker` held when it sent itself a signal.
        var held: [Substring] { lines(after: "holds ").last?.split(separator: ",") ?? [] }

        /// The jobs of which a `CrashWorker` has recorded the end.
        var finished: [Substring] { lines(after: "ended ") }

        private func lines(after start: String) -> [Substring] {
            errors.split(separator: "\n").filter { $0.hasPrefix(start) }.map { $0.dropFirst(start.count) }
        }
    }

    /// Waits for the process to end, or to be killed. Kills it if the task is cancelled, for example by the time limit of the test.
    func end() async -> End {
        await withTaskCancellationHandler {
            _ = await ended.wait()
        } onCancel: {
            if process.isRunning { kill(pid, SIGKILL) }
        }
        let text = String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        return End(
            wasKilled: process.terminationReason == .uncaughtSignal && process.terminationStatus == SIGKILL,
            status: process.terminationStatus, errors: text)
    }

    /// Waits until the process has stopped itself with SIGSTOP, or has ended. A program that is stopped in a transaction blocks the
    /// others: as long as the process is in one, it continues for a moment, and stops itself again.
    func stopped(outside isInTransaction: () throws -> Bool) async throws {
        while process.isRunning {
            let line = (try? String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8)) ?? ""
            if line.split(separator: ")").last?.hasPrefix(" T") == true {
                guard try isInTransaction() else { return }
                kill(pid, SIGCONT)
            }
            try await Task.sleep(for: .milliseconds(10))
        }
    }

    /// Lets the process go on, after its option --until has been met.
    func resume() { kill(pid, SIGCONT) }

    /// Ends a process that a failed test has left, also a stopped one.
    func abandon() { if process.isRunning { kill(pid, SIGKILL) } }
}
