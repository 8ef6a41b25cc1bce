/// Where a directory lies below the one that the caller named: a list of names upwards, put together only when it is shown.
///
/// Paths kept as text would take the square of the depth.
final class DirectoryPlace: @unchecked Sendable {
    // `above` is changed by `deinit` alone, for which the last reference is gone; all else is immutable.
    private var above: DirectoryPlace?
    private let name: DirectoryEntry.Name

    /// The number of directories between this one and the named one; 0 for that itself.
    let depth: Int

    /// The directory that was named, by its path.
    init(path: String) {
        name = DirectoryEntry.Name(path)
        depth = 0
    }

    /// A directory in another.
    init(_ name: DirectoryEntry.Name, in above: DirectoryPlace) {
        self.above = above
        self.name = name
        depth = above.depth + 1
    }

    deinit {
        // Not by recursion: a chain of 20,000 would overflow the stack.
        var next = above.take()
        while isKnownUniquelyReferenced(&next) { next = next?.above.take() }
    }

    /// The last names of the path of a name in this directory, with slashes between.
    func relativePath(of name: DirectoryEntry.Name, names count: Int) -> [UInt8] {
        var names = [name]
        var place: DirectoryPlace? = self
        while names.count < count, let current = place {
            names.append(current.name)
            place = current.above
        }
        return Array(names.reversed().map(\.bytes).joined(separator: [0x2F]))
    }

    /// The names from the named directory, which is left out, down to this one.
    var names: [DirectoryEntry.Name] {
        var names: [DirectoryEntry.Name] = []
        var place = self
        while let above = place.above {
            names.append(place.name)
            place = above
        }
        return names.reversed()
    }

    /// The path of the directory, or of a name in it, as raw bytes.
    func path(of name: DirectoryEntry.Name? = nil) -> [UInt8] {
        var names = name.map { [$0] } ?? []
        var place: DirectoryPlace? = self
        while let current = place {
            names.append(current.name)
            place = current.above
        }
        let isRoot = names.last?.bytes.last == 0x2F
        let bytes = names.reversed().map(\.bytes).joined(separator: [0x2F])
        return isRoot && names.count > 1 ? Array(bytes.dropFirst()) : Array(bytes)
    }

    /// The path for an error: bytes that are not UTF-8 appear as U+FFFD.
    func shownPath(of name: DirectoryEntry.Name? = nil) -> String { String(decoding: path(of: name), as: UTF8.self) }
}
