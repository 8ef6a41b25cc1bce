extension Document {
    /// Returns the document of an edited text. Equal to a parse of the whole text in every node, range and number, but usually takes less
    /// time.
    ///
    ///     let typed = document.replacing(5..<5, with: "*")     // One key, before the sixth byte.
    ///     let deleted = typed.replacing(5..<6, with: "")
    ///
    /// Only the blocks of the document's root that the edit changes are parsed again, and the block before them. Parsing ends at the first
    /// block after the edit that begins where it did before. The other blocks are shared with this document, which doesn't change. An
    /// opening code fence changes all blocks up to its end. One block, such as a long list, is always parsed as a whole.
    ///
    /// The whole text is parsed if the edit changes the link reference definitions, a block that defines a footnote, or which footnotes the
    /// changed blocks refer to; if a limit on references or table cells is reached; or if the document is a block of a ``DocumentStream``,
    /// whose definitions from other blocks the result doesn't have.
    ///
    /// Takes time linear in the length of the parsed blocks, plus a copy of the source, which takes about 0.1 ms per megabyte.
    ///
    /// - Parameters:
    ///   - range: The replaced part of ``source``, as UTF-8 offsets. It may separate CR from LF. A bound outside the source or within a
    ///     Unicode scalar traps.
    ///   - text: The text that takes its place. May be empty.
    public func replacing(_ range: Range<Int>, with text: String) -> Document {
        Document(storage: DocumentParser.replacing(range, of: storage, with: text).storage)
    }

    /// Returns the document of an edited text, like ``replacing(_:with:)``, for a range in UTF-16 code units.
    ///
    ///     let edited = document.replacing(utf16: range, with: text)    // Range(nsRange)! for an NSRange of a text view.
    ///
    /// - Parameters:
    ///   - range: The replaced part of ``source``, as UTF-16 offsets. A bound outside the source or within a surrogate pair traps.
    ///   - text: The text that takes its place. May be empty.
    public func replacing(utf16 range: Range<Int>, with text: String) -> Document {
        let lower = storage.position(ofUTF16: range.lowerBound)
        let upper = range.isEmpty ? lower : storage.position(ofUTF16: range.upperBound)
        return replacing(lower..<upper, with: text)
    }
}

extension DocumentStorage {
    fileprivate func position(ofUTF16 offset: Int) -> Int {
        precondition(
            offset >= 0 && offset <= regions.extent.utf16,
            "A UTF-16 offset must be from 0 to \(regions.extent.utf16); it is \(offset).")
        guard offset < regions.extent.utf16 else { return regions.extent.bytes }
        let place = regions.place(ofUTF16: offset)
        let start = regions.extent(before: place)
        let region = regions[place]
        let position = withSource(start.bytes..<start.bytes + region.length) {
            region.utf16.position(ofUTF16: offset - start.utf16, in: $0)
        }
        guard let position else {
            preconditionFailure("A UTF-16 offset must not be within a surrogate pair; \(offset) is.")
        }
        return start.bytes + position
    }
}
