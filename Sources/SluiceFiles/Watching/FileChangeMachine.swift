internal import CSluiceFiles
internal import DequeModule

/// Converts the events that the kernel writes to changes, in order. A pure value.
///
/// ```text
/// read    moved from "a" (cookie 7), modified "x"     holds both: the new name of "a" isn't known yet
/// read    moved to "b" (cookie 7)                     returns: renamed "a" to "b", modified "x"
/// or: nothing more to read                            returns: renamed "a" to nil, modified "x"
/// ```
///
/// The kernel queues both halves of a rename one after the other. Other events may come between them, and a read may
/// return only the first half. See inotify(7), "Dealing with rename() events".
package struct FileChangeMachine {
    private struct Item {
        var change: FileChange
        /// The cookie of the missing half of a rename, or `nil` if the change is complete.
        var awaited: UInt32?
    }

    private var items = Deque<Item>()

    /// Whether the kernel has ended the watch. No events follow after the changes that are held.
    package private(set) var isEnded = false

    package init() {}

    package var isReady: Bool { items.first.map { $0.awaited == nil } ?? false }

    package mutating func next() -> FileChange? { isReady ? items.popFirst()?.change : nil }

    /// Marks that nothing more can be read for now. A half of a rename is then a move to or from another directory.
    package mutating func settle() {
        for index in items.indices { items[index].awaited = nil }
    }

    // MARK: Reading

    private static var headSize: Int { 16 }

    /// Takes the bytes of one read. An incomplete event, which the kernel never writes, counts as an overflow.
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
            // The name is padded with zeros to align the next event.
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
                // At the position of the first half: changes between the halves happened after the rename.
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

    /// The second halves of renames may be among the lost events. Consecutive overflows are reported once.
    private mutating func overflow() {
        settle()
        if items.last?.change.kind != .overflow { items.append(Item(change: FileChange(.overflow))) }
    }
}

extension FileChange.Kinds {
    /// The events of inotify(7) to request, always including those that end the watch.
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
