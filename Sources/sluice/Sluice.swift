import SluiceCommands

@main
struct Sluice {
    // Synchronous: an asynchronous `main` would need a thread of Dispatch before it could check limits or block signals.
    static func main() {
        SluiceProcess.run(Array(CommandLine.arguments.dropFirst()))
    }
}
