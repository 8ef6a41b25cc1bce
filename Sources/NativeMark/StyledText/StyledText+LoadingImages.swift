extension StyledText {
    /// Loads the images of a text, and hands each over when it has come: the text is shown long before.
    ///
    ///     await text.loadImages({ image in try? await fetch(image.source) }) { index, image in
    ///         images[index] = image
    ///     }
    ///
    /// A source is loaded once, however often it is shown. Images come in the order in which they are ready, each for all of
    /// its places. One that is `nil` is not handed over: its alternative text stays. Ends when all are there; cancelled, when
    /// those that are being loaded have ended.
    ///
    /// - Parameters:
    ///   - concurrency: How many are loaded concurrently.
    ///   - load: Gives the image, or nil if there is none.
    ///   - show: Gets the index of an image in ``images`` and its image, one call at a time.
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
