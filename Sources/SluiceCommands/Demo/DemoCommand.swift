import ArgumentParser

struct DemoCommand: ConsoleCommand {
    static let configuration = CommandConfiguration(
        commandName: "demo",
        abstract: "Downloads 300 songs and images from a server on this machine and checks every byte.",
        discussion: """
            The server listens on the loopback address, on a port that the system chooses. Some of its files are slow, some fail \
            at first, and some are redirected. All are downloaded as 'sluice get' does it and compared byte by byte. Then the \
            images are read through the cache: from the network, from memory and from disk. The exit status is 0 only if \
            everything is as expected.

            EXAMPLES:
              Watch two downloads at a time:
                sluice demo -j 2
              Keep the files, which are valid WAV songs and BMP images:
                sluice demo -d ~/tunes
            """)

    @Option(
        name: [.customShort("d"), .customLong("directory")],
        help: .init(
            "The directory that keeps the files. Existing files are replaced. (default: a temporary directory)",
            valueName: "dir"))
    var directory: String?

    @Option(
        name: [.customShort("j"), .customLong("jobs")],
        help: .init("Concurrent downloads, 1 to 1024.", valueName: "n"))
    var jobs = 8

    @Option(help: .init("Progress, as in 'sluice get --help'.", valueName: "style"))
    var progress = ProgressStyle.auto

    @Option(help: .hidden)
    var corrupt: Int?

    func run(_ console: Console) async throws -> ExitStatus {
        guard (1...1024).contains(jobs) else {
            throw CommandFailure(
                .usage,
                "-j \(jobs): The number of concurrent downloads must be from 1 to 1024. See 'sluice demo --help'.")
        }
        return try await DemoRun(
            directory: directory, jobs: jobs, progress: progress, corrupted: corrupt, console: console
        ).run()
    }
}
