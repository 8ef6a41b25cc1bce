/// The position of a directory below the one that the caller named, as a linked list of names. If each directory stored its path,
/// memory would grow with the square of the depth.
final class DirectoryPlace: @unchecked Sendable {
    // Only `deinit` changes `above`, when the last reference is gone. The rest is immutable.
    private var above: DirectoryPlace?
    private let name: DirectoryEntry.Name
    /// The path of the named directory.
    private let top: DirectoryEntry.Name

    /// The number of directories from the named one down to this one; 0 for the named directory.
    let depth: Int

    init(path: String) {
        name = DirectoryEntry.Name(path)
        top = name
        depth = 0
    }

    init(_ name: DirectoryEntry.Name, in above: DirectoryPlace) {
        self.above = above
        self.name = name
        top = above.top
        depth = above.depth + 1
    }

    deinit {
        // A loop, because recursion over a chain of 20,000 directories would overflow the stack.
        var next = above.take()
        while isKnownUniquelyReferenced(&next) { next = next?.above.take() }
    }

    /// The last `count` names of the path of a name in this directory, joined by slashes.
    func relativePath(of name: DirectoryEntry.Name, names count: Int) -> [UInt8] {
        var names = [name]
        var place: DirectoryPlace? = self
        while names.count < count, let current = place {
            names.append(current.name)
            place = current.above
        }
        return Array(names.reversed().map(\.bytes).joined(separator: [0x2F]))
    }

    /// The names from the named directory (excluded) down to this one.
    var names: [DirectoryEntry.Name] {
        var names: [DirectoryEntry.Name] = []
        var place = self
        while let above = place.above {
            names.append(place.name)
            place = above
        }
        return names.reversed()
    }

    /// The path of this directory, or of a name in it. With a limit, only the lowest names, and the top before them.
    func path(of name: DirectoryEntry.Name? = nil, lowest count: Int = .max) -> [UInt8] {
        var names = name.map { [$0] } ?? []
        var place: DirectoryPlace? = self
        while let current = place, names.count < count {
            names.append(current.name)
            place = current.above
        }
        if let left = place { names += left.depth == 0 ? [top] : ["…", top] }
        let isRoot = names.last?.bytes.last == 0x2F
        let bytes = names.reversed().map(\.bytes).joined(separator: [0x2F])
        return isRoot && names.count > 1 ? Array(bytes.dropFirst()) : Array(bytes)
    }

    /// The path for an error message. Bytes that aren't UTF-8 appear as U+FFFD.
    ///
    /// In a deep tree, names in the middle are left out. Otherwise a copy, which has such a path ready for each file and directory, would
    /// take time that grows with the square of the depth.
    func shownPath(of name: DirectoryEntry.Name? = nil) -> String {
        String(decoding: path(of: name, lowest: Self.mostShown), as: UTF8.self)
    }

    private static var mostShown: Int { 64 }
}
