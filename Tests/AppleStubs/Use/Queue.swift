// Code from an app that shows a queue, and declarations that the samples with views assume.
import AppleFoundation
import SluiceConcurrency
import SluiceDownloads
import SwiftUI

struct Queue: View {
    @State private var list: DownloadList
    @State private var newest: Latest<QueueSnapshot>

    init(_ downloads: DownloadCoordinator) {
        list = DownloadList(downloads)
        newest = Latest(QueueSnapshot(), following: downloads.snapshots())
    }

    var body: some View {
        VStack {
            ForEach(list.running) { ProgressView($0.download.request.name, value: $0.fractionCompleted) }
            ForEach(list.waiting + list.paused + list.ended) { Text($0.request.name) }
            ForEach(list.hosts) { Text($0.name) }
            if let rate = list.totals.bytesPerSecond { Text("\(rate) bytes per second") }
            if let failure = list.failure { Text(failure.localizedDescription) }
            Text("\(newest.value.openCount) files")
        }
    }
}

struct Progress: Sendable, CustomStringConvertible { var description: String { "" } }
struct Transfer: Sendable { var changes: AsyncStream<Progress> { AsyncStream { $0.finish() } } }
