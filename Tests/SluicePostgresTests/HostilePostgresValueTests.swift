#if PostgreSQL
import Foundation
import SluiceDownloads
import SluicePostgres
import TestSupport
import Testing

@Suite struct `Hostile values for SluicePostgres` {
    @Test func `no call traps`() async throws {
        let log = FileManager.default.temporaryDirectory
            .appending(path: "sluice-hostile-postgres-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: log) }
        await #expect(processExitsWith: .success) { [log = log as String] in
            await HostileCall.run(`Hostile values for SluicePostgres`.calls, rounds: 60, log: log)
        }
        let last = try String(contentsOfFile: log, encoding: .utf8)
        #expect(last == "finished", "\(last) trapped. The seed was \(HostileCall.seed).")
    }

    @Test func `every function that takes hostile values is called`() throws {
        let (missing, unknown) = try HostileCall.uncovered("SluicePostgres", Self.calls.map(\.name))
        #expect(missing.isEmpty && unknown.isEmpty)
    }

    static let calls: [HostileCall] = [
        HostileCall("DownloadStore.postgres(_:queue:namespace:using:)") { values in
            // Nothing listens on this port. The hostile text alone could name a real server.
            let url = "postgres://127.0.0.1:1/" + values.text()
            let downloads = DownloadCoordinator(
                store: .postgres(url, queue: values.text(), namespace: values.text()))
            do { _ = try await downloads.snapshot() } catch { _ = "\(error)" }
            try await downloads.close()
        }
    ]
}
#endif
