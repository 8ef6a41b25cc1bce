// What the samples of doc comments in Sources/SluiceDownloads/Observing/DownloadList.swift take for granted: as much of SwiftUI as they name. Nothing here runs.
import SluiceDownloads

@MainActor protocol View {
    associatedtype Body: View
    @ViewBuilder @MainActor var body: Body { get }
}
@MainActor @resultBuilder enum ViewBuilder {
    static func buildBlock<each Content: View>(_ content: repeat each Content) -> some View { Text("") }
}
struct Text: View {
    init(_ text: String) {}
    var body: Never { return fatalError() }
}
struct ProgressView: View {
    init(_ title: String, value: Double) {}
    var body: Never { return fatalError() }
}
struct ForEach<Element>: View {
    init(_ elements: [Element], @ViewBuilder _ content: @escaping (Element) -> some View) {}
    var body: Never { return fatalError() }
}
extension Never: View {
    var body: Never { return fatalError() }
}
