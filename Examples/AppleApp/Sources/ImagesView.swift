import Foundation
import SluiceCache
import SluiceConcurrency
import SwiftUI

/// The second screen: images that are fetched once, decoded off the main actor, and kept on disk and in memory.
struct ImagesView: View {
    let model: Model

    private let urls = (1...100).compactMap { URL(string: "https://picsum.photos/id/\($0)/600/400") }

    var body: some View {
        ScrollView {
            LazyVGrid(columns: [GridItem(.adaptive(minimum: 160))]) {
                ForEach(urls, id: \.self) { CachedImage(url: $0, images: model.images) }
            }
            .padding()
        }
        .navigationTitle("Images")
    }
}

/// An image from the cache. Shows the progress until the image is there.
struct CachedImage: View {
    let url: URL
    let images: DecodedCache<PlatformImage>
    @State private var state = Latest<ResourceState<PlatformImage>>(.waiting)

    var body: some View {
        ZStack {
            Rectangle().fill(.quaternary)
            // An image in memory appears in the first frame.
            if let image = state.value.value ?? images.valueInMemory(for: url) {
                Image(decorative: image.cgImage, scale: 1)
                    .resizable()
                    .scaledToFill()
            } else if state.value.error != nil {
                Image(systemName: "photo.badge.exclamationmark")
            } else {
                ProgressView(value: state.value.progress?.fractionCompleted)
            }
        }
        .frame(height: 120)
        .clipped()
        // When the view disappears, its task is cancelled. So is the request, unless another view is waiting for it.
        .task(id: url) { await state.follow(images.states(of: url)) }
    }
}
