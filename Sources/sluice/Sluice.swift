import SluiceCommands

@main
struct Sluice {
    /// Synchronous: an asynchronous one would wait for a thread of Dispatch before it could look at a limit or a signal.
    static func main() {
        SluiceProcess.run(Array(CommandLine.arguments.dropFirst()))
    }
}
