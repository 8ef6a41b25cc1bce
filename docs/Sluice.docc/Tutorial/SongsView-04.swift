import SluiceDownloads
import SwiftUI

struct SongsView: View {
    let songs: Songs
    @State private var problem: String?

    var body: some View {
        List {
            if let failure = songs.list.failure { Text(failure.localizedDescription) }
            ForEach(songs.list.running) { song in
                ProgressView(song.download.request.name, value: song.fractionCompleted)
                Button("Cancel") { change { try await songs.downloads.cancel(.ids([song.id])) } }
            }
            Text("\(songs.list.count(in: .waiting)) songs wait.")
            ForEach(songs.list.failed) { song in
                Text(song.request.name)
                Text(song.error?.localizedDescription ?? "")
                Button("Try again") { change { try await songs.downloads.retry(.ids([song.id])) } }
            }
            if let problem { Text(problem) }
        }
    }

    private func change(_ action: @escaping @MainActor () async throws -> Void) {
        Task {
            do { try await action() } catch { problem = error.localizedDescription }
        }
    }
}
