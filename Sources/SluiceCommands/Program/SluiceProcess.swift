package enum SluiceProcess {
    /// Runs the command that the arguments name, and ends the process with its status.
    ///
    /// The main thread only waits for signals, so that a signal can end the process even if the system has no thread left.
    package static func run(_ arguments: [String]) -> Never {
        // The order matters: signals are blocked before another thread exists, and standard streams are open before any file.
        let signals = ProcessSignals.block()
        guard StandardStreams.openClosed() else { ProcessTerminal.exitImmediately(.other) }
        ProcessTerminal.ignoreBrokenPipes()
        if let lack = ProcessLimits.needed().lack() {
            ProcessTerminal.emit(Console.line(lack), to: Console.Stream.error.rawValue)
            ProcessTerminal.exitImmediately(.other)
        }
        let interruption = Interruption()
        signals.endingImmediately {
            Task.detached {
                let status = await SluiceProgram.run(arguments, console: .standard(interruption))
                ProcessTerminal.exitImmediately(status)
            }
        }
        signals.serve(interruption)
    }
}
