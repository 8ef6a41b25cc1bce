extension StyledText {
    /// Loads the images of the text and passes each one to a closure when it is ready.
    ///
    /// Each source is loaded once, even if several images use it. Images arrive in the order in which they are ready. If `load` returns
    /// `nil`, `show` isn't called for the image. The method returns when all images are loaded; after cancellation, it starts no loads,
    /// shows no images, and returns when the running loads have ended.
    ///
    /// `show` receives the index of an image in ``images``. Its calls don't overlap.
    func loadImages<Loaded: Sendable>(
        concurrency: Int = 4, _ load: @escaping @Sendable (Image) async -> Loaded?,
        show: (_ index: Int, _ image: Loaded) -> Void
    ) async {
        var places: [String: [Int]] = [:]
        var waiting: [Image] = []
        for (index, image) in images.enumerated() {
            if places[image.source] == nil { waiting.append(image) }
            places[image.source, default: []].append(index)
        }
        await withTaskGroup(of: (source: String, image: Loaded?).self) { group in
            var next = waiting.makeIterator()
            func start() {
                guard !Task.isCancelled, let image = next.next() else { return }
                group.addTask { (image.source, await load(image)) }
            }
            for _ in 0..<max(concurrency, 1) { start() }
            while let loaded = await group.next() {
                start()
                guard let image = loaded.image, !Task.isCancelled else { continue }
                for index in places[loaded.source] ?? [] { show(index, image) }
            }
        }
    }
}
