import SluiceDownloads
import SwiftUI

struct SongsView: View {
    let songs: Songs

    var body: some View {
        List {
            ForEach(songs.list.running) { song in
                ProgressView(song.download.request.name, value: song.fractionCompleted)
            }
            Text("\(songs.list.count(in: .waiting)) songs wait.")
        }
    }
}
