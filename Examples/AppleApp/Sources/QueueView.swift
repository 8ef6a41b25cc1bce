import Foundation
import SluiceDownloads
import SluiceHTTP
import SwiftUI

/// The first screen: the downloads with their progress.
struct QueueView: View {
    @Bindable var model: Model
    @State private var isAdding = false

    private var list: DownloadList { model.list }

    var body: some View {
        List {
            if let failure = list.failure {
                Label(failure.localizedDescription, systemImage: "exclamationmark.triangle")
            }
            ForEach(list.hosts) { host in
                Label(
                    "\(host.name) \(host.isUnreachable ? "can't be reached" : "is busy")",
                    systemImage: "wifi.exclamationmark")
            }
            Section("Running") {
                ForEach(list.running) { RunningRow(running: $0, model: model) }
            }
            Section("\(list.count(in: .waiting)) waiting") {
                ForEach(list.waiting) { DownloadRow(download: $0, model: model) }
            }
            Section("Paused") {
                ForEach(list.paused) { DownloadRow(download: $0, model: model) }
            }
            Section("Ended") {
                ForEach(list.ended) { DownloadRow(download: $0, model: model) }
            }
        }
        .navigationTitle("Downloads")
        .toolbar {
            Button("Add", systemImage: "plus") { isAdding = true }
        }
        .sheet(isPresented: $isAdding) { AddView(model: model) }
        .alert("The downloads have a problem", isPresented: $model.hasProblem) {
            Button("OK") {}
        } message: {
            Text(model.problem ?? "")
        }
    }
}

/// A running download. Only this view is updated while bytes arrive.
private struct RunningRow: View {
    let running: QueueSnapshot.Running
    let model: Model

    var body: some View {
        HStack {
            VStack(alignment: .leading) {
                Text(running.download.request.name)
                ProgressView(value: running.fractionCompleted)
                Text(running.receivedBytes, format: .byteCount(style: .file))
                    .font(.caption)
                    .foregroundStyle(.secondary)
            }
            Button("Pause", systemImage: "pause") { model.pause(running.id) }
            Button("Cancel", systemImage: "xmark", role: .destructive) { model.cancel(running.id) }
        }
        .labelStyle(.iconOnly)
        .buttonStyle(.borderless)
    }
}

/// A download that is waiting or paused, or has ended.
private struct DownloadRow: View {
    let download: QueuedDownload
    let model: Model

    var body: some View {
        HStack {
            VStack(alignment: .leading) {
                Text(download.request.name)
                Text(download.error?.message ?? download.request.host)
                    .font(.caption)
                    .foregroundStyle(.secondary)
            }
            Spacer()
            switch download.state {
            case .waiting, .running:
                Button("Pause", systemImage: "pause") { model.pause(download.id) }
                cancel
            case .paused:
                Button("Resume", systemImage: "play") { model.resume(download.id) }
                cancel
            case .failed, .cancelled:
                Button("Try again", systemImage: "arrow.clockwise") { model.retry(download.id) }
            case .done:
                Label("Done", systemImage: "checkmark")
            }
        }
        .labelStyle(.iconOnly)
        .buttonStyle(.borderless)
    }

    private var cancel: some View {
        Button("Cancel", systemImage: "xmark", role: .destructive) { model.cancel(download.id) }
    }
}
