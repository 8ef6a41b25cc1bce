public import Foundation

/// A child process that a test starts, signals and waits for.
///
///     let worker = try ChildProcess(builtProgram("CrashWorker"), ["--database", path])
///     worker.signal(SIGKILL)
///     #expect(await worker.end().wasKilled)
///
/// Standard input is empty. Both outputs are read from the start, so the process never blocks on a full pipe.
public struct ChildProcess: Sendable {
    /// How a process ended, and what it wrote.
    public struct End: Sendable, CustomStringConvertible {
        /// The exit status, or the number of the signal that ended the process.
        public var status: Int32
        /// Whether a signal ended the process.
        public var wasSignalled: Bool
        /// What the process wrote to standard output.
        public var output: String
        /// What the process wrote to standard error.
        public var error: String

        /// Whether SIGKILL ended the process.
        public var wasKilled: Bool { wasSignalled && status == SIGKILL }

        /// The status or signal and the messages, for the message of an expectation.
        public var description: String { "\(wasSignalled ? "signal" : "exit status") \(status): \(error)" }
    }

    private let process = Process()
    private let ended = Gate()
    private let output: Task<String, Never>
    private let errors: Task<String, Never>

    /// Starts a program.
    ///
    /// - Parameters:
    ///   - environment: The environment variables of the process, or `nil` to inherit the test's, except for `XDG_STATE_HOME`: the
    ///     tests must not write to the user's directory.
    ///   - directory: The current directory of the process, or `nil` to inherit the test's.
    ///   - readable: Awaited before standard output is read.
    ///   - begun: Called with the process ID, so that other code can kill the process.
    public init(
        _ program: URL, _ arguments: [String] = [], environment: [String: String]? = nil, directory: URL? = nil,
        readable: @escaping @Sendable () async -> Void = {}, begun: (pid_t) -> Void = { _ in }
    ) throws {
        process.executableURL = program
        process.arguments = arguments
        process.environment =
            environment
            ?? ProcessInfo.processInfo.environment.merging(["XDG_STATE_HOME": Self.stateDirectory.path]) { $1 }
        if let directory { process.currentDirectoryURL = directory }
        let (written, complaints) = (Pipe(), Pipe())
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = written
        process.standardError = complaints
        process.terminationHandler = { [ended] _ in Task { await ended.open() } }
        try process.run()
        begun(process.processIdentifier)
        output = Task {
            await readable()
            return await Self.text(of: written)
        }
        errors = Task { await Self.text(of: complaints) }
    }

    private static let stateDirectory: URL = {
        let directory = FileManager.default.temporaryDirectory.appending(
            path: "sluice-tests-state-\(ProcessInfo.processInfo.processIdentifier)", directoryHint: .isDirectory)
        atexit { try? FileManager.default.removeItem(at: ChildProcess.stateDirectory) }
        return directory
    }()

    private static func text(of pipe: Pipe) async -> String {
        await offPool { String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self) }
    }

    /// The process ID.
    public var pid: pid_t { process.processIdentifier }

    /// Whether the process hasn't exited or been killed. A stopped process counts as running.
    public var isRunning: Bool { process.isRunning }

    /// Sends a signal to the process, unless it has ended.
    public func signal(_ number: Int32) { if isRunning { kill(pid, number) } }

    /// Waits for the process to exit. Kills it if the task is cancelled, for example by the time limit of the test.
    public func exit() async {
        await withTaskCancellationHandler {
            await ended.pass()
        } onCancel: {
            signal(SIGKILL)
        }
    }

    /// Waits for the process to exit and for both outputs to end. Kills the process if the task is cancelled.
    @discardableResult
    public func end() async -> End {
        await exit()
        return End(
            status: process.terminationStatus, wasSignalled: process.terminationReason == .uncaughtSignal,
            output: await output.value, error: await errors.value)
    }

    /// Runs a line of shell code, and waits until it exits. `"$@"` are the arguments.
    public static func shell(
        _ line: String, _ arguments: [String] = [], directory: URL? = nil,
        watching: (ChildProcess) async throws -> Void = { _ in },
        readable: @escaping @Sendable () async -> Void = {}
    ) async throws -> End {
        let process = try ChildProcess(
            URL(filePath: "/bin/sh"), ["-c", line, "sh"] + arguments, directory: directory, readable: readable)
        return try await withTaskCancellationHandler {
            do {
                try await watching(process)
            } catch {
                process.signal(SIGKILL)
                throw error
            }
            return await process.end()
        } onCancel: {
            process.signal(SIGKILL)
        }
    }
}

// MARK: - Built programs

/// Returns the path of a program that was built with these tests, in the same directory.
///
/// - Throws: An error with the command that builds the program. Tests fail without their program; a skipped test would never fail.
public func builtProgram(_ name: String) throws -> URL {
    let directory = URL(filePath: ProcessInfo.processInfo.arguments[0]).deletingLastPathComponent()
    let program = directory.appending(path: name)
    guard FileManager.default.isExecutableFile(atPath: program.path) else { throw MissingProgram(path: program.path) }
    return program
}

/// The error for a program that the tests need but that hasn't been built.
public struct MissingProgram: Error, CustomStringConvertible {
    let path: String

    /// The text of the error.
    public var description: String { "\(path) is missing; run `swift build --build-tests`" }
}
