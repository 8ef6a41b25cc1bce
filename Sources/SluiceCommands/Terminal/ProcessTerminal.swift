#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// System calls for terminals, limits and child processes.
package enum ProcessTerminal {
    static func isTerminal(_ descriptor: Int32) -> Bool {
        isatty(descriptor) == 1
    }

    /// Whether a descriptor is of a regular file, all of which can be read without waiting for another program (fstat(2)); `nil` if it isn't
    /// open.
    static func isRegularFile(_ descriptor: Int32) -> Bool? {
        var status: stat = .init()
        return fstat(descriptor, &status) == 0 ? status.st_mode & S_IFMT == S_IFREG : nil
    }

    /// Returns the size of the terminal (TIOCGWINSZ, ioctl_tty(2)); `nil` if there is no terminal.
    static func size(of descriptor: Int32) -> Console.Size? {
        var size = winsize()
        guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0 else { return nil }
        var cell = Console.CellSize()
        // Many terminals report zero.
        if size.ws_xpixel >= size.ws_col, size.ws_ypixel >= size.ws_row {
            cell.width = Int(size.ws_xpixel / size.ws_col)
            cell.height = Int(size.ws_ypixel / size.ws_row)
        }
        return Console.Size(columns: Int(size.ws_col), rows: Int(size.ws_row), cell: cell)
    }

    /// Stops a terminal from showing typed input until the returned closure is called (termios(3)). Returns `nil` if there is no terminal,
    /// or if the process is in the background, where changing the terminal would stop it (tcgetpgrp(3)).
    ///
    /// With `byKey`, input can be read after each key instead of after each line. Keys such as Ctrl-C still send signals.
    static func silence(_ descriptor: Int32, byKey: Bool = false) -> (@Sendable () -> Void)? {
        var before = termios()
        guard tcgetpgrp(descriptor) == getpgrp(), tcgetattr(descriptor, &before) == 0 else { return nil }
        var silent = before
        silent.c_lflag &= ~tcflag_t(byKey ? ECHO | ICANON : ECHO)
        guard tcsetattr(descriptor, TCSANOW, &silent) == 0 else { return nil }
        let flags = before.c_lflag
        return {
            var now = termios()
            guard tcgetattr(descriptor, &now) == 0 else { return }
            now.c_lflag = flags
            tcsetattr(descriptor, TCSANOW, &now)
        }
    }

    /// Makes a write to a pipe without a reader fail with EPIPE instead of ending the process (signal(7)).
    package static func ignoreBrokenPipes() {
        signal(SIGPIPE, SIG_IGN)
    }

    /// Raises the soft limit on open files to 10,240, or to the hard limit if that is lower (getrlimit(2)). A higher limit stays. Returns
    /// the limit, or `nil` if there is none. The usual soft limit of 1,024 is for programs that call select(2).
    static func allowOpenFiles() -> Int? {
        #if os(Linux)
        let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        #else
        let resource = RLIMIT_NOFILE
        #endif
        var limit = rlimit()
        guard getrlimit(resource, &limit) == 0 else { return nil }
        // Darwin rejects more than OPEN_MAX, which is 10,240.
        let wanted = min(limit.rlim_max, 10_240)
        if limit.rlim_cur < wanted {
            var raised = limit
            raised.rlim_cur = wanted
            if setrlimit(resource, &raised) == 0 { limit = raised }
        }
        return limit.rlim_cur >= rlim_t(Int32.max) ? nil : Int(limit.rlim_cur)
    }

    // MARK: Other programs

    struct Child: Sendable {
        let id: Int32
        let input: Int32
        /// The read end of a pipe that closes when the child ends. It carries the child's output if that is captured.
        let life: Int32
    }

    /// Where a child's standard output goes.
    enum ChildOutput {
        case inherited
        /// To ``Child/life``.
        case captured
        /// To this process's standard error.
        case error
    }

    /// Starts a shell command; returns `nil` if that fails.
    static func spawn(
        shell command: String, environment: [String: String], capturesOutput: Bool = false
    ) -> Child? {
        spawn(["/bin/sh", "-c", command], environment: environment, output: capturesOutput ? .captured : .inherited)
    }

    /// Starts a program, which is looked up in `PATH` unless its name contains a slash; returns `nil` if that fails (posix_spawn(3)). The
    /// child starts without blocked signals and with the default action for SIGPIPE, because it would otherwise
    /// inherit both from this process (exec(3)).
    static func spawn(_ command: [String], environment: [String: String], output: ChildOutput) -> Child? {
        guard let program = command.first else { return nil }
        var input: [Int32] = [-1, -1]
        var life: [Int32] = [-1, -1]
        guard pipe(&input) == 0 else { return nil }
        guard pipe(&life) == 0 else {
            input.forEach(close)
            return nil
        }
        for descriptor in input + life { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }

        #if canImport(Darwin)
        // On Darwin, these are pointers that the system allocates.
        var actions: posix_spawn_file_actions_t?
        var attributes: posix_spawnattr_t?
        #else
        var actions = posix_spawn_file_actions_t()
        var attributes = posix_spawnattr_t()
        #endif
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, input[0], 0)
        switch output {
        case .inherited: break
        case .captured: posix_spawn_file_actions_adddup2(&actions, life[1], 1)
        case .error: posix_spawn_file_actions_adddup2(&actions, 2, 1)
        }
        // A number that the child doesn't use. The child inherits the copy, because dup2(2) clears FD_CLOEXEC.
        let unused = max(input[0], life[1]) + 1
        posix_spawn_file_actions_adddup2(&actions, life[1], unused)

        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var signals = sigset_t()
        sigemptyset(&signals)
        posix_spawnattr_setsigmask(&attributes, &signals)
        sigaddset(&signals, SIGPIPE)
        posix_spawnattr_setsigdefault(&attributes, &signals)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK) | Int16(POSIX_SPAWN_SETSIGDEF))

        var arguments: [UnsafeMutablePointer<CChar>?] = command.map { strdup($0) }
        var variables: [UnsafeMutablePointer<CChar>?] = environment.map { strdup("\($0.key)=\($0.value)") }
        arguments.append(nil)
        variables.append(nil)
        defer { for text in arguments + variables { free(text) } }
        var id: pid_t = 0
        let result = posix_spawnp(&id, program, &actions, &attributes, &arguments, &variables)
        close(input[0])
        close(life[1])
        guard result == 0 else {
            close(input[1])
            close(life[0])
            return nil
        }
        return Child(id: id, input: input[1], life: life[0])
    }

    /// Waits for a child that has exited or is about to. Returns its exit status; -1 if a signal ended it (waitpid(2)).
    static func reap(_ child: Child) -> Int32 {
        var status: Int32 = 0
        while waitpid(child.id, &status, 0) < 0, errno == EINTR {}
        return status & 0x7F == 0 ? (status >> 8) & 0xFF : -1
    }

    /// Asks a process to end (SIGTERM). Call it before ``reap(_:)``; afterward the system may reuse the process ID.
    static func terminate(_ child: Child) {
        kill(child.id, SIGTERM)
    }

    static func close(_ descriptor: Int32) {
        #if canImport(Darwin)
        _ = Darwin.close(descriptor)
        #elseif canImport(Glibc)
        _ = Glibc.close(descriptor)
        #elseif canImport(Musl)
        _ = Musl.close(descriptor)
        #endif
    }

    /// Ends the process without running exit handlers or flushing streams.
    package static func exitImmediately(_ status: ExitStatus) -> Never {
        _exit(status.rawValue)
    }

    /// Writes a short text immediately. If the terminal accepts no output, waits at most one second (poll(2)), so that a stopped
    /// terminal doesn't delay a signal for longer.
    package static func emit(_ text: String, to descriptor: Int32) {
        var waited = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        guard poll(&waited, 1, 1000) == 1 else { return }
        let bytes = Array(text.utf8)
        _ = write(descriptor, bytes, bytes.count)
    }
}

/// The control sequences of progress bars and full screens (ECMA-48, DECTCEM of the VT220, and xterm's alternate screen).
enum TerminalSequence {
    static let hideCursor = "\u{1B}[?25l"
    static let showCursor = "\u{1B}[?25h"
    static let eraseToEndOfLine = "\u{1B}[K"
    static let eraseBelow = "\u{1B}[J"

    static let enterAlternateScreen = "\u{1B}[?1049h"
    static let leaveAlternateScreen = "\u{1B}[?1049l"
    static let home = "\u{1B}[H"

    static func up(_ lines: Int) -> String {
        lines > 0 ? "\u{1B}[\(lines)A" : ""
    }
}
