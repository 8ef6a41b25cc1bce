import Foundation
import SluiceDownloads
import SluiceFiles
import SluiceHTTP
import Synchronization

/// Downloads a list through a queue in a file, and kills itself like `kill -9` when a job reaches a given step for the
/// n-th time.
///
///     CrashWorker DATABASE DIRECTORY LIST durability step n
///
/// LIST has a name and a URL on each line. Exits with 0 if all jobs were done before that, and with 1 after a failure.
@main
struct CrashWorker {
    static func main() async throws {
        let arguments = CommandLine.arguments
        let directory = URL(filePath: arguments[2], directoryHint: .isDirectory)
        let requests = try String(contentsOfFile: arguments[3], encoding: .utf8).split(separator: "\n").map { line in
            let parts = line.split(separator: " ")
            return DownloadRequest(try URL(fetchable: String(parts[1])), to: directory, name: String(parts[0]))
        }
        let step = arguments[5]
        let left = Mutex(Int(arguments[6]) ?? 1)

        let store = try await SQLiteQueueStore.open(at: URL(filePath: arguments[1]))
        let summary = try await HTTPTransport.withTransport { transport in
            let downloads = DownloadCoordinator(
                store: store, transport: transport, limits: DownloadCoordinator.Limits(total: 3),
                configuration: .init(
                    retries: RetryPolicy(baseDelay: .zero), durability: arguments[4] == "data" ? .data : .none)
            ) { _, phase in
                guard name(of: phase) == step else { return }
                let isTime = left.withLock { left in
                    left -= 1
                    return left == 0
                }
                if isTime { kill(getpid(), SIGKILL) }
            }
            return try await downloads.download(requests)
        }
        try await store.close()
        for error in summary.failures.values { FileHandle.standardError.write(Data("\(error)\n".utf8)) }
        exit(summary.isComplete ? 0 : 1)
    }

    /// The name of the step is the name of the case.
    static func name(of phase: JobPhase) -> String {
        switch phase {
        case .claimed: "claimed"
        case .transfer(let phase): "\(phase)"
        case .recorded: "recorded"
        }
    }
}
