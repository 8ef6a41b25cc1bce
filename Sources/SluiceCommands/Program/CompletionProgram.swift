import ArgumentParser
import SluiceConcurrency
import SluiceDownloads
import SluiceFiles
import SluiceHTTP
import SluiceLock

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Runs the program of `--on-complete` for each downloaded file, a few at a time.
///
/// The program gets the file's path as its last argument, and `SLUICE_PATH`, `SLUICE_URL` and `SLUICE_SIZE`. Its input is empty, and its output
/// goes to standard error, because standard output may have JSON lines.
final class CompletionProgram: Sendable {
    private let line: ShellWords
    private let environment: [String: String]
    private let report: @Sendable (String) -> Void
    private let files = AsyncQueue<(request: DownloadRequest, size: Int64)>()
    private let failed = Lock(false)

    /// The number of programs that run at the same time.
    static let concurrency = 4

    /// - Parameter report: Shows a message to the user. Doesn't block.
    init(_ line: ShellWords, environment: [String: String], report: @escaping @Sendable (String) -> Void) {
        self.line = line
        self.environment = environment
        self.report = report
    }

    static let help = ArgumentHelp(
        """
        A program to run for each downloaded file, with arguments but without a shell. It gets the file's path as its last \
        argument, and SLUICE_PATH, SLUICE_URL and SLUICE_SIZE.
        """, valueName: "command")

    /// Returns the words of the option; `nil` if it isn't given.
    static func words(_ option: String?, for command: String) throws(CommandFailure) -> ShellWords? {
        guard let option else { return nil }
        do throws(ShellWords.Invalid) {
            return try ShellWords(option)
        } catch {
            throw CommandFailure(.usage, "--on-complete: \(error.message) See 'sluice \(command) --help'.")
        }
    }

    /// Throws if it is known before the first download that the program can't be started.
    static func check(_ line: ShellWords?, _ console: Console) async throws(CommandFailure) {
        guard let line, let problem = await problem(of: line, path: console.environment["PATH"]) else { return }
        throw CommandFailure(.usage, "--on-complete: \(problem)")
    }

    /// Returns why the program can't be started, if that is known before the first download.
    private static func problem(
        of line: ShellWords, path: String?, using files: FileIO = .shared
    ) async -> String? {
        let name = line.words[0]
        let directories = name.contains("/") ? [""] : (path ?? "/usr/bin:/bin").split(separator: ":").map { $0 + "/" }
        for directory in directories {
            let status = try? await files.status(of: URL(filePath: directory + name))
            if let status, status.kind == .file, status.permissions.rawValue & 0o111 != 0 { return nil }
        }
        return "The program '\(name)' wasn't found. Check its name, or write its whole path."
    }

    /// Notes a downloaded file. Doesn't block.
    func note(_ request: DownloadRequest, size: Int64) { files.enqueue((request, size)) }

    /// Reports that the program doesn't run for a file.
    func leaveOut(_ name: String, because reason: String) {
        fail("The program doesn't run for '\(name)', because \(reason).")
    }

    /// Whether a program failed, after ``run()``.
    var hasFailed: Bool { failed.withLock { $0 } }

    /// Runs `body`, and then the remaining programs.
    static func with<Value: Sendable>(
        _ program: CompletionProgram?, _ body: @Sendable () async throws -> Value
    ) async throws -> Value {
        guard let program else { return try await body() }
        return try await withThrowingTaskGroup { group in
            group.addTask { await program.run() }
            defer { program.finish() }
            let value = try await body()
            program.finish()
            try await group.waitForAll()
            return value
        }
    }

    /// No more files follow.
    func finish() { files.finish() }

    /// Runs the programs until ``finish()``. If the task is cancelled, running programs are terminated, and no others are started.
    func run() async {
        await withDiscardingTaskGroup { group in
            for _ in 0..<Self.concurrency {
                group.addTask { [self] in
                    for await file in files.elements {
                        guard !Task.isCancelled else { return }
                        await run(for: file.request, size: file.size)
                    }
                }
            }
        }
    }

    private func run(for request: DownloadRequest, size: Int64) async {
        let path = request.target.path(percentEncoded: false)
        let variables = environment.merging(
            ["SLUICE_PATH": path, "SLUICE_URL": request.url.absoluteString, "SLUICE_SIZE": "\(size)"]) { $1 }
        guard let child = ProcessTerminal.spawn(line.words + [path], environment: variables, output: .error) else {
            return fail("'\(line.words[0])' couldn't be started for '\(path)'. Check that it can be executed.")
        }
        ProcessTerminal.close(child.input)
        // Nothing is written to this pipe. It ends when the program does.
        _ = try? await FileIO.shared.readToEnd(descriptor: child.life, name: line.words[0], maximumSize: 1)
        ProcessTerminal.close(child.life)
        if Task.isCancelled { ProcessTerminal.terminate(child) }
        switch ProcessTerminal.reap(child) {
        case 0: break
        case -1: fail("'\(line.words[0])' was ended by a signal for '\(path)'. The file is complete.")
        case let status: fail("'\(line.words[0])' ended with status \(status) for '\(path)'. The file is complete.")
        }
    }

    private func fail(_ message: String) {
        failed.withLock { $0 = true }
        report("--on-complete: \(message)")
    }
}
