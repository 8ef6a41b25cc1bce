/// The process around ``SluiceProgram``.
package enum SluiceProcess {
    /// Carries out the command that the arguments name, and ends the process with its status.
    ///
    /// The main thread only waits for signals, so that it needs none of the system's other threads to end the process. The
    /// order counts: signals are blocked before a thread could take one, standard streams are open before a file is.
    package static func run(_ arguments: [String]) -> Never {
        let signals = ProcessSignals.block()
        guard StandardStreams.openClosed() else { ProcessTerminal.exitAtOnce(.other) }
        ProcessTerminal.ignoreBrokenPipes()
        if let lack = ProcessLimits.needed().lack() {
            ProcessTerminal.emit(Console.line(lack), to: Console.Stream.error.rawValue)
            ProcessTerminal.exitAtOnce(.other)
        }
        let interruption = Interruption()
        signals.endingImmediately {
            Task.detached {
                let status = await SluiceProgram.run(arguments, console: .standard(interruption))
                ProcessTerminal.exitAtOnce(status)
            }
        }
        signals.serve(interruption)
    }
}
