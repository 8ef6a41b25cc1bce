internal import CSluiceFiles
internal import DequeModule

/// What the kernel writes about changes, as changes in order. A pure value.
///
/// ```text
/// read    moved from "a" (7), modified "x"            held: "a" has left, for where?
/// read    moved to "b" (7)                            renamed "a" to "b", modified "x"
/// or: nothing more to read                            renamed "a" to nowhere here, modified "x"
/// ```
///
/// The kernel puts both halves of a rename into the queue one after the other, but others' events may come between, and a
/// reader may see the first half alone. See inotify(7), "Dealing with rename() events".
package struct FileChangeMachine {
    private struct Item {
        var change: FileChange
        /// What the other half of a rename will bear; nil once nothing is missing.
        var awaited: UInt32?
    }

    private var items = Deque<Item>()

    /// Whether the kernel has ended the watch: nothing comes after what is held here.
    package private(set) var isEnded = false

    package init() {}

    /// Whether `next()` has something to give.
    package var isReady: Bool { items.first.map { $0.awaited == nil } ?? false }

    /// The next change that is complete.
    package mutating func next() -> FileChange? { isReady ? items.popFirst()?.change : nil }

    /// Says that there is nothing more to read for now: what was half a rename is a move to or from elsewhere.
    package mutating func settle() {
        for index in items.indices { items[index].awaited = nil }
    }

    // MARK: Reading

    /// The size of an event without its name.
    private static var headSize: Int { 16 }

    /// Takes what one read gave. Bytes that are no whole event, which no kernel writes, count as lost changes.
    package mutating func receive(_ bytes: UnsafeRawBufferPointer) {
        var rest = bytes[...]
        while !rest.isEmpty, !isEnded {
            guard rest.count >= Self.headSize else { return overflow() }
            let head = UnsafeRawBufferPointer(rebasing: rest.prefix(Self.headSize))
            let mask = head.loadUnaligned(fromByteOffset: 4, as: UInt32.self)
            let cookie = head.loadUnaligned(fromByteOffset: 8, as: UInt32.self)
            let length = Int(head.loadUnaligned(fromByteOffset: 12, as: UInt32.self))
            rest = rest.dropFirst(Self.headSize)
            guard length <= rest.count else { return overflow() }
            // Padded with zeros, so that the next head is aligned.
            let name = rest.prefix(length).prefix { $0 != 0 }
            rest = rest.dropFirst(length)
            receive(mask, cookie, name.isEmpty ? nil : DirectoryEntry.Name(bytes: name))
        }
        if isEnded { settle() }
    }

    private mutating func receive(_ mask: UInt32, _ cookie: UInt32, _ name: DirectoryEntry.Name?) {
        let isDirectory = has(mask, csluice_changed_is_directory)
        func append(_ machine: inout Self, _ kind: FileChange.Kind, _ name: DirectoryEntry.Name?) {
            machine.items.append(Item(change: FileChange(kind, name: name, isDirectory: isDirectory)))
        }
        if has(mask, csluice_changed_overflow) { overflow() }
        if has(mask, csluice_changed_created) { append(&self, .created, name) }
        if has(mask, csluice_changed_modified) { append(&self, .modified, name) }
        if has(mask, csluice_changed_attributes) { append(&self, .attributes, name) }
        if has(mask, csluice_changed_closed_after_writing) { append(&self, .closedAfterWriting, name) }
        if has(mask, csluice_changed_moved_from) {
            append(&self, .renamed(from: name, to: nil), name)
            items[items.endIndex - 1].awaited = cookie
        }
        if has(mask, csluice_changed_moved_to) {
            if let first = items.firstIndex(where: { $0.awaited == cookie }) {
                // In its place: what came between happened after the rename.
                items[first].change.kind = .renamed(from: items[first].change.name, to: name)
                items[first].change.name = name
                items[first].awaited = nil
            } else {
                append(&self, .renamed(from: nil, to: name), name)
            }
        }
        if has(mask, csluice_changed_removed) { append(&self, .removed, name) }
        if has(mask, csluice_changed_moved_itself) { append(&self, .renamed(from: nil, to: nil), nil) }
        if has(mask, csluice_changed_removed_itself) { append(&self, .removed, nil) }
        if has(mask, csluice_changed_unmounted) { append(&self, .unmounted, nil) }
        if has(mask, csluice_changed_ignored) { isEnded = true }
    }

    private func has<Bit: BinaryInteger>(_ mask: UInt32, _ bit: Bit) -> Bool { mask & UInt32(bit) != 0 }

    /// Second halves of renames are among what was lost, perhaps. Several in a row say no more than one.
    private mutating func overflow() {
        settle()
        if items.last?.change.kind != .overflow { items.append(Item(change: FileChange(.overflow))) }
    }
}

extension FileChange.Kinds {
    /// The events of inotify(7) to ask for: those that end the watch in any case.
    var mask: UInt32 {
        var bits = [csluice_changed_removed_itself, csluice_changed_not_unlinked]
        if contains(.created) { bits.append(csluice_changed_created) }
        if contains(.modified) { bits.append(csluice_changed_modified) }
        if contains(.closedAfterWriting) { bits.append(csluice_changed_closed_after_writing) }
        if contains(.removed) { bits.append(csluice_changed_removed) }
        if contains(.attributes) { bits.append(csluice_changed_attributes) }
        if contains(.renamed) {
            bits += [csluice_changed_moved_from, csluice_changed_moved_to, csluice_changed_moved_itself]
        }
        return bits.reduce(0) { $0 | UInt32($1) }
    }
}
