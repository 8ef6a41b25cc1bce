import Testing

@testable import NativeMark

@Suite struct `Memory of regions` {
    @Test func `gives parts that don't overlap, aligned for nodes, until it is full`() {
        let memory = RegionMemory(size: 10)
        let first = memory.take(3)
        #expect(memory.hasRoom(for: 6) && !memory.hasRoom(for: 7))
        let second = memory.take(6)
        #expect(first.count == 3 && second.count == 6)
        #expect(second.baseAddress == first.baseAddress.map { $0 + 4 })
        #expect(!memory.hasRoom(for: 1) && memory.hasRoom(for: 0))
    }

    @Test func `lives as long as a document that has one of its regions`() {
        var document = Document((0..<300).map { "# \($0)\n\ntext *\($0)*\n\n" }.joined())
        let last = document.root.children.map(\.plainText).last
        document = document.replacing(0..<document.source.utf8.count - 14, with: "new\n\n")
        #expect(document.root.firstChild?.plainText == "new")
        #expect(document.root.children.map(\.plainText).last == last)
    }
}
