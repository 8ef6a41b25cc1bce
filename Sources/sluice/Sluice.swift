import SluiceCommands

@main
struct Sluice {
    static func main() async {
        ProcessTerminal.ignoreBrokenPipes()
        let status = await SluiceProgram.run(Array(CommandLine.arguments.dropFirst()), console: .standard())
        ProcessTerminal.exitAtOnce(status)
    }
}
