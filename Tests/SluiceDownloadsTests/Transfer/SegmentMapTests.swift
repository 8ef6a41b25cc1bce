import Testing

@testable import SluiceDownloads

@Suite struct `A map of segments` {
    private func ranges(_ map: SegmentMap) -> [[Int64]] { map.stored.map { Array($0.prefix(2)) } }

    @Test func `divides the segment with the most missing bytes`() {
        var map = SegmentMap(total: 1000)
        let ids = (0..<5).map { _ in map.take(splittingFrom: 100) }
        #expect(ids == [0, 1, 2, 3, 4])
        #expect(ranges(map) == [[0, 125], [125, 250], [250, 500], [500, 750], [750, 1000]])
    }

    @Test func `divides only if both halves are large enough`() {
        var map = SegmentMap(total: 199)
        #expect(map.hasWork(splittingFrom: 100) && map.take(splittingFrom: 100) == 0)
        #expect(!map.hasWork(splittingFrom: 100) && map.take(splittingFrom: 100) == nil)
        var larger = SegmentMap(total: 200)
        #expect(larger.take(splittingFrom: 100) == 0 && larger.hasWork(splittingFrom: 100))
        #expect(larger.take(splittingFrom: 100) == 1)
        // What has arrived isn't missing.
        var partly = SegmentMap(total: 200)
        _ = partly.take(splittingFrom: 100)
        _ = partly.receive(1, in: 0)
        #expect(partly.take(splittingFrom: 100) == nil)
    }

    @Test func `gives a connection only the bytes before the end of its segment`() {
        var map = SegmentMap(total: 1000)
        _ = map.take(splittingFrom: 1)
        #expect(map.receive(300, in: 0) == 300)
        #expect(map.take(splittingFrom: 1) == 1 && map[1].first == 650)
        #expect(map.receive(400, in: 0) == 350 && map.receive(1, in: 0) == 0)
        #expect(map.receivedBytes == 650 && map.writtenBytes == 0)
    }

    @Test func `forgets what a connection hasn't written, and lets another one take its segment`() {
        var map = SegmentMap(total: 1000)
        let id = map.take(splittingFrom: 1000)!
        _ = map.receive(500, in: id)
        map.noteWritten(300, in: id)
        map.release(id)
        #expect(map.receivedBytes == 300 && map.writtenBytes == 300 && !map.isComplete)
        #expect(map.take(splittingFrom: 1000) == id && map[id].written == 300)
        #expect(map.receive(700, in: id) == 700)
        map.noteWritten(700, in: id)
        #expect(map.isComplete)
        map.release(id)
        #expect(map.take(splittingFrom: 1) == nil && !map.hasWork(splittingFrom: 1))
    }

    @Test func `lets a connection go on with the next segment if nobody fetches it`() {
        var map = SegmentMap(total: 300)
        for _ in 0..<3 { _ = map.take(splittingFrom: 1) }
        #expect(map.takeNeighbor(of: 0) == nil)
        map.release(2)
        #expect(map.takeNeighbor(of: 0) == 2 && map.takeNeighbor(of: 1) == nil && map.takeNeighbor(of: 2) == nil)
    }

    @Test func `is stored and read again`() {
        var map = SegmentMap(total: 1000)
        for _ in 0..<4 { _ = map.take(splittingFrom: 1) }
        for (id, count) in [(0, 250), (1, 100), (2, 10), (3, 0)] {
            _ = map.receive(count, in: id)
            map.noteWritten(count, in: id)
        }
        var later = map
        later.noteSynced(map)
        _ = later.receive(5, in: 2)
        later.noteWritten(5, in: 2)
        // Segments 0 and 2 are neighbors, and segment 0 is complete.
        #expect(later.stored == [[0, 500, 265, 260], [500, 750, 600, 600], [750, 1000, 750, 750]])
        let same = SegmentMap(stored: later.stored, total: 1000, isSameBoot: true)
        #expect(same?.writtenBytes == 365 && same?.stored == later.stored)
        // After a power failure, only what was synced counts.
        #expect(SegmentMap(stored: later.stored, total: 1000, isSameBoot: false)?.writtenBytes == 360)
    }

    @Test func `is made for the bytes that must be downloaded again`() {
        let map = SegmentMap(total: 100, missing: [10..<20, 30..<40])
        #expect(map.stored == [[0, 20, 10, 0], [20, 40, 30, 20], [40, 100, 100, 40]])
        #expect(map.receivedBytes == 80)
        #expect(SegmentMap(total: 10, missing: [0..<10]).stored == [[0, 10, 0, 0]])
        // Too many ranges are joined, but none is left out.
        let ranges = (0..<1000).map { Int64($0) * 10..<Int64($0) * 10 + 5 }
        let many = SegmentMap(total: 10_000, missing: ranges)
        #expect(many.stored.count <= SegmentMap.maximumCount)
        #expect(SegmentMap(stored: many.stored, total: 10_000, isSameBoot: true) != nil)
        #expect(many.receivedBytes <= 5000)
    }

    @Test func `joins segments only as far as all of them are synced`() {
        var map = SegmentMap(total: 400)
        for _ in 0..<2 { _ = map.take(splittingFrom: 1) }
        _ = map.receive(200, in: 1)
        map.noteWritten(200, in: 1)
        map.noteSynced(map)
        _ = map.receive(200, in: 0)
        map.noteWritten(200, in: 0)
        #expect(map.stored == [[0, 400, 400, 0]])
    }

    @Test(
        arguments: [
            [], [[]], [[0, 100]], [[0, 99, 0, 0]], [[1, 100, 1, 1]], [[0, 100, 101, 0]], [[0, 100, 0, 1]],
            [[0, 100, 5, -1]],
            [[0, 50, 0, 0], [51, 100, 51, 51]], [[0, 50, 0, 0], [49, 100, 49, 49]], [[0, 0, 0, 0], [0, 100, 0, 0]],
            [[0, 100, 0, 0], [100, 100, 100, 100]], [[0, .max, 0, 0]], [[.min, 100, 0, 0]],
        ] as [[[Int64]]]) func `that doesn't fit the file isn't read`(stored: [[Int64]])
    {
        #expect(SegmentMap(stored: stored, total: 100, isSameBoot: true) == nil)
    }

    @Test func `has at most as many segments as a checkpoint has room for`() {
        var map = SegmentMap(total: .max)
        var count = 0
        while map.take(splittingFrom: 1) != nil { count += 1 }
        #expect(count == SegmentMap.maximumCount && !map.hasWork(splittingFrom: 1))
        #expect("\(map.stored)".utf8.count < 15 << 10)
        #expect(SegmentMap(stored: map.stored, total: .max, isSameBoot: true) != nil)
        let tooMany = (0...SegmentMap.maximumCount).map { [Int64($0), Int64($0) + 1, Int64($0), Int64($0)] }
        #expect(SegmentMap(stored: tooMany, total: Int64(tooMany.count), isSameBoot: true) == nil)
    }
}
