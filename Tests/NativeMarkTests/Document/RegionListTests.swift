@testable import NativeMark
import Testing

@Suite struct `Lists of regions` {
    private func region(_ length: Int) -> DocumentRegion {
        Array(repeating: UInt8(ascii: "a"), count: length).withUnsafeBufferPointer {
            DocumentRegion(
                nodes: Array(repeating: NodeRecord(.document, start: 0, end: 0), count: 1 + length % 3),
                jumps: [], content: .init(start: nil, count: 0), extra: [], strings: [], alignments: [], source: $0,
                shared: nil, memory: RegionMemory(size: 200))
        }
    }

    @Test(arguments: 0..<4) func `replace regions as an array does`(seed: Int) {
        var generator = `Random documents`.Generator(state: UInt64(seed))
        var expected = (0..<generator.next(below: 2_000)).map { 1 + region($0 % 7 + 1).length % 7 }.map(region)
        var list = RegionList(expected)
        for _ in 0..<15 {
            let first = generator.next(below: expected.count + 1)
            let last = min(expected.count, first + [0, 1, 3, 700][generator.next(below: 4)])
            let new = (0..<[0, 1, 2, 900][generator.next(below: 4)]).map { region($0 % 5 + 1) }
            let previous = (list, expected)
            list = list.replacing(from: list.place(at: first), to: list.place(at: last), with: new)
            expected.replaceSubrange(first..<last, with: new)

            #expect(list.count == expected.count)
            #expect(zip(list, expected).allSatisfy { $0 === $1 })
            #expect(list.extent.bytes == expected.reduce(0) { $0 + $1.length })
            var (bytes, nodes) = (0, 0)
            for (index, region) in expected.enumerated() {
                let place = list.place(at: index)
                let extent = list.extent(before: place)
                guard extent.bytes == bytes, extent.nodes == nodes, list.index(of: place) == index,
                    list.place(ofByte: bytes) == place, list.place(ofByte: bytes + region.length - 1) == place,
                    list.place(ofUTF16: bytes) == place, list.place(after: place) == list.place(at: index + 1),
                    index == 0 || list.place(before: place) == list.place(at: index - 1)
                else {
                    Issue.record("region \(index)")
                    return
                }
                bytes += region.length
                nodes += region.nodeCount - 1
            }
            let shared = list.shared(with: previous.0)
            let isSame = new.isEmpty && first == last
            #expect(shared.prefix == (isSame ? expected.count : first))
            #expect(shared.suffix == (isSame ? 0 : previous.1.count - last))
        }
    }
}

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
