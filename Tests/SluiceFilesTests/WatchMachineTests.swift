import Foundation
import SluiceFiles
import Testing

/// An event as inotify(7) lays it out.
struct RawChange {
    var mask: UInt32
    var cookie: UInt32 = 0
    var name: DirectoryEntry.Name?
    /// Zeros after the name.
    var padding = 16

    var bytes: [UInt8] {
        let name = self.name.map { $0.bytes + Array(repeating: 0, count: padding) } ?? []
        return [1, mask, cookie, UInt32(name.count)].flatMap { value in withUnsafeBytes(of: value) { Array($0) } }
            + name
    }
}

private let (modified, attributes, closed): (UInt32, UInt32, UInt32) = (0x2, 0x4, 0x8)
private let (movedFrom, movedTo, created, removed): (UInt32, UInt32, UInt32, UInt32) = (0x40, 0x80, 0x100, 0x200)
private let (removedItself, movedItself, unmounted): (UInt32, UInt32, UInt32) = (0x400, 0x800, 0x2000)
private let (overflow, ignored, directory): (UInt32, UInt32, UInt32) = (0x4000, 0x8000, 0x4000_0000)

extension FileChangeMachine {
    fileprivate mutating func receive(_ events: RawChange...) { receive(events.flatMap(\.bytes)) }
    fileprivate mutating func receive(_ bytes: [UInt8]) { bytes.withUnsafeBytes { receive($0) } }

    /// All that it gives now.
    fileprivate mutating func all() -> [FileChange] {
        var changes: [FileChange] = []
        while let change = next() { changes.append(change) }
        return changes
    }
}

struct `What inotify writes` {
    @Test func `each event is a change, in order, with its name and without the padding`() {
        var machine = FileChangeMachine()
        machine.receive(
            RawChange(mask: created, name: "a", padding: 1), RawChange(mask: created | directory, name: "directory"),
            RawChange(mask: modified, name: "a"), RawChange(mask: attributes, name: "new\nline", padding: 0),
            RawChange(mask: closed, name: DirectoryEntry.Name(bytes: [0xFF])), RawChange(mask: removed, name: "a"),
            RawChange(mask: attributes | directory), RawChange(mask: movedItself))
        #expect(
            machine.all() == [
                FileChange(.created, name: "a"), FileChange(.created, name: "directory", isDirectory: true),
                FileChange(.modified, name: "a"), FileChange(.attributes, name: "new\nline"),
                FileChange(.closedAfterWriting, name: DirectoryEntry.Name(bytes: [0xFF])),
                FileChange(.removed, name: "a"),
                FileChange(.attributes, isDirectory: true), FileChange(.renamed(from: nil, to: nil)),
            ])
        #expect(!machine.isEnded && !machine.isReady)
    }

    @Test func `bits that come together are all given, and unknown ones are passed over`() {
        var machine = FileChangeMachine()
        machine.receive(RawChange(mask: modified | attributes, name: "a"), RawChange(mask: 0x10, name: "a"))
        #expect(machine.all() == [FileChange(.modified, name: "a"), FileChange(.attributes, name: "a")])
    }

    @Test func `both halves of a rename are one change, in the place of the first`() {
        var machine = FileChangeMachine()
        machine.receive(
            RawChange(mask: movedFrom, cookie: 7, name: "a"), RawChange(mask: created, name: "a"),
            RawChange(mask: movedFrom, cookie: 8, name: "x"), RawChange(mask: movedTo, cookie: 7, name: "b"),
            RawChange(mask: movedTo, cookie: 8, name: "y"))
        #expect(
            machine.all() == [
                FileChange(.renamed(from: "a", to: "b"), name: "b"), FileChange(.created, name: "a"),
                FileChange(.renamed(from: "x", to: "y"), name: "y"),
            ])
    }

    @Test func `half a rename delays later events until the other half, or until there is no more to read`() {
        var machine = FileChangeMachine()
        machine.receive(RawChange(mask: modified, name: "m"), RawChange(mask: movedFrom, cookie: 7, name: "a"))
        machine.receive(RawChange(mask: removed, name: "z"))
        #expect(machine.all() == [FileChange(.modified, name: "m")])
        var other = machine
        machine.receive(RawChange(mask: movedTo, cookie: 7, name: "b"))
        #expect(
            machine.all() == [FileChange(.renamed(from: "a", to: "b"), name: "b"), FileChange(.removed, name: "z")])
        other.settle()
        #expect(
            other.all() == [FileChange(.renamed(from: "a", to: nil), name: "a"), FileChange(.removed, name: "z")])
        // Too late: two changes.
        other.receive(RawChange(mask: movedTo, cookie: 7, name: "b"))
        #expect(other.all() == [FileChange(.renamed(from: nil, to: "b"), name: "b")])
    }

    @Test func `a move from elsewhere waits for nothing, and other cookies are not its half`() {
        var machine = FileChangeMachine()
        machine.receive(
            RawChange(mask: movedTo, cookie: 5, name: "in"), RawChange(mask: movedFrom, cookie: 7, name: "a"),
            RawChange(mask: movedTo, cookie: 6, name: "b"))
        #expect(machine.all() == [FileChange(.renamed(from: nil, to: "in"), name: "in")])
        machine.settle()
        #expect(
            machine.all() == [
                FileChange(.renamed(from: "a", to: nil), name: "a"),
                FileChange(.renamed(from: nil, to: "b"), name: "b"),
            ])
    }

    @Test func `an overflow is given, once for several in a row, and nothing waits for lost events`() {
        var machine = FileChangeMachine()
        machine.receive(
            RawChange(mask: movedFrom, cookie: 7, name: "a"), RawChange(mask: overflow), RawChange(mask: overflow))
        machine.receive(RawChange(mask: overflow), RawChange(mask: modified, name: "m"), RawChange(mask: overflow))
        #expect(
            machine.all() == [
                FileChange(.renamed(from: "a", to: nil), name: "a"), FileChange(.overflow),
                FileChange(.modified, name: "m"), FileChange(.overflow),
            ])
    }

    @Test func `the end of the watch is the end, with all that was held`() {
        var machine = FileChangeMachine()
        machine.receive(
            RawChange(mask: movedFrom, cookie: 7, name: "a"), RawChange(mask: removedItself),
            RawChange(mask: ignored), RawChange(mask: modified, name: "another file's"))
        #expect(machine.isEnded)
        #expect(machine.all() == [FileChange(.renamed(from: "a", to: nil), name: "a"), FileChange(.removed)])
        var gone = FileChangeMachine()
        gone.receive(RawChange(mask: unmounted), RawChange(mask: ignored))
        #expect(gone.all() == [FileChange(.unmounted)] && gone.isEnded)
    }

    @Test func `events cut off anywhere are lost changes, and never read past the end`() {
        let first = RawChange(mask: created, name: "first").bytes
        let second = RawChange(mask: removed, name: "second").bytes
        for count in 0...second.count {
            var machine = FileChangeMachine()
            machine.receive(first + second.prefix(count))
            let last: [FileChange] =
                switch count {
                case 0: []
                case second.count: [FileChange(.removed, name: "second")]
                default: [FileChange(.overflow)]
                }
            #expect(machine.all() == [FileChange(.created, name: "first")] + last)
        }
        var machine = FileChangeMachine()
        machine.receive(
            [1, created, 0, UInt32.max].flatMap { value in withUnsafeBytes(of: value) { Array($0) } } + [65])
        #expect(machine.all() == [FileChange(.overflow)])
    }

    @Test func `events at odd addresses are read`() {
        var machine = FileChangeMachine()
        let bytes =
            [0] + RawChange(mask: created, name: "a", padding: 2).bytes
            + RawChange(mask: removed, name: "a").bytes
        bytes.withUnsafeBytes { machine.receive(UnsafeRawBufferPointer(rebasing: $0.dropFirst())) }
        #expect(machine.all() == [FileChange(.created, name: "a"), FileChange(.removed, name: "a")])
    }
}
