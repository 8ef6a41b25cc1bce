import ArgumentParser

/// `sluice demo`: the arguments.
struct DemoCommand: ConsoleCommand {
    static let configuration = CommandConfiguration(
        commandName: "demo",
        abstract: "Shows a download of 300 songs and pictures, without a network.",
        discussion: """
            Starts a server on this machine's loopback address, on a port that the system chooses. Some of its files are \
            slow, some fail at first, some have moved. All are downloaded as 'sluice get' does it, and every byte is \
            compared. Exits with 0 only if all is right.

            EXAMPLES:
              sluice demo
              sluice demo -j 2
              sluice demo -d ~/tunes      (keeps the files: real WAV songs and BMP pictures)
            """)

    @Option(
        name: [.customShort("d"), .customLong("directory")],
        help: .init(
            "Keep the files in this folder; those of the same names are replaced. By default they go to a temporary one.",
            valueName: "dir"))
    var directory: String?

    @Option(
        name: [.customShort("j"), .customLong("jobs")], help: .init("How many downloads run at once.", valueName: "n"))
    var jobs = 8

    @Option(
        help: .init(
            "How to show progress: auto, bar, lines, json or none; see 'sluice get --help'.", valueName: "style"))
    var progress = ProgressStyle.auto

    @Option(help: .hidden)
    var corrupt: Int?

    func run(_ console: Console) async throws -> ExitStatus {
        guard (1...1024).contains(jobs) else {
            throw CommandFailure(
                .usage,
                "-j \(jobs): the number of downloads at once must be between 1 and 1024; see 'sluice demo --help'")
        }
        return try await DemoRun(
            directory: directory, jobs: jobs, progress: progress, corrupted: corrupt, console: console
        ).run()
    }
}
