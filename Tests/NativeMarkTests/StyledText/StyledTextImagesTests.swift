import TestSupport
import Testing

@testable import NativeMark

@Suite(.timeLimit(.minutes(15))) struct `Images that come one by one` {
    private let text = StyledText(Document("![](a) ![](b) ![](a) ![](c) ![](d) ![](e)"))

    @Test func `each is loaded once, and shown in all its places`() async {
        let loaded = Guarded<[String]>([])
        var shown: [Int: String] = [:]
        await text.loadImages { image in
            loaded.withLock { $0.append(image.source) }
            return image.source == "c" ? nil : image.source.uppercased()
        } show: { index, image in
            #expect(shown[index] == nil)
            shown[index] = image
        }
        #expect(loaded.withLock { $0.sorted() } == ["a", "b", "c", "d", "e"])
        #expect(shown == [0: "A", 1: "B", 2: "A", 4: "D", 5: "E"])
    }

    @Test func `one that is slow keeps no other waiting`() async {
        let gate = Gate()
        var shown: [Int] = []
        await text.loadImages { image in
            if image.source == "a" { await gate.pass() }
            return image.source
        } show: { index, _ in
            shown.append(index)
            // The last of the others opens the gate.
            if shown.count == 4 { Task { await gate.open() } }
        }
        #expect(Set(shown.prefix(4)) == [1, 3, 4, 5])
        #expect(shown.suffix(2) == [0, 2])
    }

    @Test func `only so many are loaded concurrently`() async {
        let gates = (0..<5).map { _ in Gate() }
        let begun = Guarded(0)
        let executor = ManualExecutor()
        let text = text
        let loading = executor.spawn {
            await text.loadImages(concurrency: 2) { image in
                let number = begun.withLock { count in
                    defer { count += 1 }
                    return count
                }
                await gates[number].pass()
                return image.source
            } show: { _, _ in
            }
        }
        for ended in 0...5 {
            // All tasks wait now: for a gate, or for each other.
            executor.runUntilIdle()
            #expect(begun.withLock { $0 } == min(ended + 2, 5))
            if ended < 5 { await gates[ended].open() }
        }
        await loading.value
    }

    @Test func `cancelled, no more are begun and none are shown`() async {
        let gate = Gate()
        let started = Guarded(0)
        let text = text
        let task = Task {
            var shown = 0
            await text.loadImages(concurrency: 2) { image in
                started.withLock { $0 += 1 }
                await gate.pass()
                return image.source
            } show: { _, _ in
                shown += 1
            }
            return shown
        }
        await gate.arrivals(2)
        task.cancel()
        await gate.open()
        #expect(await task.value == 0)
        #expect(started.withLock { $0 } == 2)
    }
}
