import SwiftUI

/// An app with a download queue, cached images and Markdown, for iOS and macOS.
@main
struct GalleryApp: App {
    @State private var model = Model()

    var body: some Scene {
        WindowGroup {
            TabView {
                Tab("Downloads", systemImage: "arrow.down.circle") {
                    NavigationStack { QueueView(model: model) }
                }
                Tab("Images", systemImage: "photo.on.rectangle") {
                    NavigationStack { ImagesView(model: model) }
                }
                Tab("Guide", systemImage: "book") {
                    NavigationStack { GuideView() }
                }
            }
        }
    }
}
