/// The messages to print and the status to exit with.
struct CommandFailure: Error {
    var status: ExitStatus
    /// One for each problem.
    var lines: [String]

    init(_ status: ExitStatus, _ lines: String...) {
        self.init(status, lines: lines)
    }

    init(_ status: ExitStatus, lines: [String]) {
        self.status = status
        self.lines = lines
    }
}
