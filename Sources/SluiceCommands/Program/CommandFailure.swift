/// A command that ends with a message and a status.
struct CommandFailure: Error {
    var status: ExitStatus
    /// One line for each thing that is wrong.
    var lines: [String]

    init(_ status: ExitStatus, _ lines: String...) {
        self.init(status, lines: lines)
    }

    init(_ status: ExitStatus, lines: [String]) {
        self.status = status
        self.lines = lines
    }
}
