import Foundation
import SluiceCache
import SwiftUI

/// The second screen: images that are fetched once, decoded off the main actor, and kept on disk and in memory.
struct ImagesView: View {
    let model: Model

    private let urls = (1...100).compactMap { URL(string: "https://picsum.photos/id/\($0)/600/400") }

    var body: some View {
        ScrollView {
            LazyVGrid(columns: [GridItem(.adaptive(minimum: 160))]) {
                ForEach(urls, id: \.self) { url in
                    // When the view disappears, its request is cancelled, unless another view is waiting for the image.
                    CachedImage(url, maximumPixelSize: 600) { image in
                        image.resizable().scaledToFill()
                    } placeholder: {
                        Rectangle().fill(.quaternary)
                    }
                    .frame(height: 120)
                    .clipped()
                }
            }
            .padding()
        }
        .cachedImages(in: model.images)
        .navigationTitle("Images")
    }
}
