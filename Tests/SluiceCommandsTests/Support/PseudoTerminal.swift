import Foundation
import SluiceCommands
import SluiceConcurrency
import TestSupport

/// A terminal without a screen (pty(7)), and the output of a program on it.
final class PseudoTerminal: Sendable {
    private let master: CInt
    private let slave: CInt
    private let bytes = Monitor([UInt8]())

    /// - Parameter cell: The size of a character in pixels, as the terminal reports it.
    init(columns: Int, rows: Int, cell: (width: Int, height: Int)) throws {
        #if os(Linux)
        // The system calls of posix_openpt(3), unlockpt(3) and ptsname(3), which Swift can't import (ioctl_tty(2)).
        master = open("/dev/ptmx", O_RDWR | O_NOCTTY)
        var (isLocked, number): (CInt, CInt) = (0, 0)
        let (unlock, tell) = (UInt(0x4004_5431), UInt(0x8004_5430))
        guard master >= 0, ioctl(master, unlock, &isLocked) == 0, ioctl(master, tell, &number) == 0 else {
            throw POSIXError(.ENOTTY)
        }
        slave = open("/dev/pts/\(number)", O_RDWR | O_NOCTTY)
        #else
        master = posix_openpt(O_RDWR | O_NOCTTY)
        guard master >= 0, grantpt(master) == 0, unlockpt(master) == 0, let name = ptsname(master) else {
            throw POSIXError(.ENOTTY)
        }
        slave = open(name, O_RDWR | O_NOCTTY)
        #endif
        guard slave >= 0 else { throw POSIXError(.ENOTTY) }
        for descriptor in [master, slave] { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }
        guard resize(columns: columns, rows: rows, cell: cell) else { throw POSIXError(.ENOTTY) }
    }

    /// Changes the size, and sends SIGWINCH to the processes in the foreground of a session on this terminal.
    @discardableResult
    func resize(columns: Int, rows: Int, cell: (width: Int, height: Int)) -> Bool {
        var size = winsize(
            ws_row: UInt16(rows), ws_col: UInt16(columns), ws_xpixel: UInt16(columns * cell.width),
            ws_ypixel: UInt16(rows * cell.height))
        return ioctl(master, UInt(TIOCSWINSZ), &size) == 0
    }

    /// Sends input, as if a user typed it.
    func type(_ text: String) {
        let bytes = Array(text.utf8)
        _ = write(master, bytes, bytes.count)
    }

    /// The output so far.
    var output: String { String(decoding: bytes.state, as: UTF8.self) }

    /// Waits until the output contains a text.
    func output(containing wanted: String) async throws {
        try await bytes.waitUnlessCancelled(where: { String(decoding: $0, as: UTF8.self).contains(wanted) })
    }

    /// Runs a program with this terminal as its standard input and output, and returns its status and its standard error.
    ///
    /// - Parameter input: Another standard input.
    /// - Parameter watching: Called with the process while it runs.
    func run(
        _ program: URL, _ arguments: [String], environment: [String: String],
        input: FileHandle? = nil, watching: @escaping @Sendable (Int32) async -> Void = { _ in }
    ) async throws -> (status: Int32, error: String) {
        let process = Process()
        process.executableURL = program
        process.arguments = arguments
        process.environment = environment
        process.standardInput = input ?? FileHandle(fileDescriptor: slave, closeOnDealloc: false)
        process.standardOutput = FileHandle(fileDescriptor: slave, closeOnDealloc: false)
        let errors = Pipe()
        process.standardError = errors
        let (ended, end) = Condition.makeCondition()
        process.terminationHandler = { _ in end.signal() }
        try process.run()
        close(slave)
        async let watch: Void = watching(process.processIdentifier)
        // Uses a thread, because a terminal must be read at any time, even if the tasks of other tests keep the pool busy. A program that
        // finds it full drops output.
        await offPool { [self] in
            var buffer = [UInt8](repeating: 0, count: 4096)
            while true {
                let count = read(master, &buffer, buffer.count)
                if count < 0, errno == EINTR { continue }
                // The read fails with EIO when the last program has closed the terminal.
                if count <= 0 { break }
                bytes.withState { $0 += buffer[..<count] }
            }
        }
        await ended.wait()
        await watch
        close(master)
        let error = String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        return (process.terminationStatus, error)
    }
}
