extension StyledText {
    /// Loads the pictures of a text, and hands each over when it has come: the text is shown long before.
    ///
    ///     await text.loadPictures({ image in try? await fetch(image.source) }) { index, picture in
    ///         pictures[index] = picture
    ///     }
    ///
    /// A source is loaded once, however often it is shown. Pictures come in the order in which they are ready, each for all of
    /// its places. One that is `nil` is not handed over: its alternative text stays. Ends when all are there; cancelled, when
    /// those that are being loaded have ended.
    ///
    /// - Parameters:
    ///   - atOnce: How many are loaded at the same time.
    ///   - load: Gives the picture, or nil if there is none.
    ///   - show: Gets the index of an image in ``images`` and its picture, one call at a time.
    func loadPictures<Picture: Sendable>(
        atOnce: Int = 4, _ load: @escaping @Sendable (Image) async -> Picture?,
        show: (_ index: Int, _ picture: Picture) -> Void
    ) async {
        var places: [String: [Int]] = [:]
        var waiting: [Image] = []
        for (index, image) in images.enumerated() {
            if places[image.source] == nil { waiting.append(image) }
            places[image.source, default: []].append(index)
        }
        await withTaskGroup(of: (source: String, picture: Picture?).self) { group in
            var next = waiting.makeIterator()
            func start() {
                guard !Task.isCancelled, let image = next.next() else { return }
                group.addTask { (image.source, await load(image)) }
            }
            for _ in 0..<max(atOnce, 1) { start() }
            while let loaded = await group.next() {
                start()
                guard let picture = loaded.picture, !Task.isCancelled else { continue }
                for index in places[loaded.source] ?? [] { show(index, picture) }
            }
        }
    }
}
