import SluiceDownloads

/// Shows the queue with a line for each snapshot.
struct Screen {
    func show(_ snapshots: some AsyncSequence<QueueSnapshot, any Error>) async throws {
        for try await snapshot in snapshots {
            print(line(for: snapshot))
        }
    }

    private func line(for snapshot: QueueSnapshot) -> String {
        let running = snapshot.running.map { song in
            let part = song.fraction.map { " \(Int($0 * 100)) %" } ?? ""
            return "\(song.download.request.user ?? "?"): \(song.download.request.name)\(part)"
        }
        let next = snapshot.waiting.first.map { ", next: \($0.request.name)" } ?? ""
        return "[\(snapshot.count(.waiting)) waiting\(next)] " + running.joined(separator: " | ")
    }
}
