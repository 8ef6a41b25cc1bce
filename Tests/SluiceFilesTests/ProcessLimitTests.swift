import Foundation
import TestSupport
import Testing

/// Scarce resources of a process, and missing standard streams. Each test runs in a child process; see FileWorker.
@Suite(.timeLimit(.minutes(2))) struct `Limits of a process` {
    @Test(.enabled(if: geteuid() == 0, "skipped: only root can become a user that has no other process"))
    func `a pool works with the threads that it gets, and without any the error names the limit`() async throws {
        let end = await Child.run(try builtProgram("FileWorker"), ["threads"])
        #expect(end.status == 0, "\(end)")
    }

    @Test(arguments: ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
    func `no file gets the number of a standard stream that is closed`(closed: String) async throws {
        let worker = try builtProgram("FileWorker")
        try await withIO { _, directory in
            // Standard error may be closed: the shell says what the status was.
            let inner = directory.appending(path: "inner")
            try FileManager.default.createDirectory(at: inner, withIntermediateDirectories: false)
            let script =
                "\"$0\" closed \"$1\" \(closed); status=$?; [ $status = 0 ] || echo \"status $status\" >&2; exit $status"
            let end = await Child.run(URL(filePath: "/bin/sh"), ["-c", script, worker.path, inner.path])
            #expect(end.status == 0, "\(end)")
        }
    }
}
