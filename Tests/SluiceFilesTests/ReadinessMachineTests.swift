import Foundation
import SluiceFiles
import TestSupport
import Testing

struct `The machine of readiness` {
    private typealias Machine = ReadinessStateMachine<String>

    /// What the kernel knows, as the machine told it.
    private struct Kernel {
        var armed: [CInt: ReadinessEntry] = [:]

        mutating func take(_ change: Machine.Change?) {
            switch change {
            case nil: break
            case .set(let entry, _): armed[entry.descriptor] = entry
            case .remove(let descriptor): armed[descriptor] = nil
            }
        }
    }

    @Test func `the first waiting task adds a registration, the next modifies it, the last to leave removes it`() {
        var machine = Machine()
        guard case .set(let first, isNew: true) = machine.wait(1, for: 7, .reading, watching: false, "a") else {
            Issue.record("not new")
            return
        }
        #expect(first.descriptor == 7 && first.readiness == .reading)
        let second = machine.wait(2, for: 7, .writing, watching: false, "b")
        #expect(
            second
                == .set(
                    ReadinessEntry(descriptor: 7, readiness: [.reading, .writing], token: first.token), isNew: false))
        let (woken, change) = machine.ready(ReadinessEntry(descriptor: 7, readiness: .reading, token: first.token))
        #expect(woken == ["a"])
        #expect(change == .set(ReadinessEntry(descriptor: 7, readiness: .writing, token: first.token), isNew: false))
        let left = machine.cancel(2)
        #expect(left?.0 == "b" && left?.1 == .remove(7))
        let again = machine.cancel(2)
        #expect(again == nil && machine.isEmpty)
    }

    @Test func `all tasks that wait for a direction are woken in order; hanging up wakes both directions`() {
        for (readiness, expected) in [
            (Readiness.reading, ["a", "c"]), (.writing, ["b"]), (.hungUp, ["a", "b", "c"]), (.failed, ["a", "b", "c"]),
            ([.reading, .writing], ["a", "b", "c"]), ([], []),
        ] {
            var machine = Machine()
            var kernel = Kernel()
            kernel.take(machine.wait(1, for: 3, .reading, watching: false, "a"))
            kernel.take(machine.wait(2, for: 3, .writing, watching: false, "b"))
            kernel.take(machine.wait(3, for: 3, .reading, watching: false, "c"))
            var event = kernel.armed[3]!
            event.readiness = readiness
            #expect(machine.ready(event).ready == expected)
        }
    }

    @Test func `an event for a number that is another file's by now wakes no task`() {
        var machine = Machine()
        var kernel = Kernel()
        kernel.take(machine.wait(1, for: 3, .reading, watching: false, "a"))
        let old = kernel.armed[3]!
        _ = machine.cancel(1)
        kernel.take(machine.wait(2, for: 3, .reading, watching: false, "b"))
        #expect(machine.ready(old).ready == [])
        #expect(machine.ready(kernel.armed[3]!).ready == ["b"])
    }

    @Test func `a task that joins a registration of a closed file gets a new one, and the others get an error`() {
        var machine = Machine()
        var kernel = Kernel()
        kernel.take(machine.wait(1, for: 3, .reading, watching: true, "a"))
        let old = kernel.armed[3]!
        kernel.take(machine.wait(2, for: 3, .writing, watching: true, "b"))
        let (stale, change) = machine.replaced(3, by: 2)
        #expect(stale == ["a"])
        guard case .set(let anew, isNew: true) = change else {
            Issue.record("\(String(describing: change))")
            return
        }
        #expect(anew.readiness == .writing && anew.token != old.token)
        #expect(machine.waiters == 1 && machine.isWatching)
        #expect(machine.cancel(2)?.0 == "b" && !machine.isWatching)
    }

    @Test func `a refused registration and the end wake all; descriptors of others are looked after while waited for`()
    {
        var machine = Machine()
        _ = machine.wait(1, for: 3, .reading, watching: false, "a")
        _ = machine.wait(2, for: 4, .reading, watching: true, "b")
        _ = machine.wait(3, for: 5, .reading, watching: true, "c")
        #expect(Set(machine.checks().map(\.descriptor)) == [4, 5])
        #expect(machine.refused(4) == ["b"])
        #expect(machine.checks().map(\.descriptor) == [5])
        #expect(machine.refused(4) == [])
        #expect(machine.close() == ["a", "c"])
        #expect(machine.isEmpty && !machine.isWatching && machine.checks().isEmpty && machine.cancel(1) == nil)
    }

    @Test
    func
        `over random events no task is lost, woken twice or woken for nothing, and the kernel is asked for just enough`()
    {
        for seed in 0..<100 {
            var random = SeededRandom(seed: UInt64(seed))
            var machine = Machine()
            var kernel = Kernel()
            // The waiting tasks, by id.
            var model: [(id: UInt64, descriptor: CInt, readiness: Readiness)] = []
            var next: UInt64 = 0
            for _ in 0..<200 {
                let descriptor = CInt(random.next() % 4)
                switch random.next() % 6 {
                case 0, 1, 2:
                    next += 1
                    let readiness: Readiness = random.next() % 2 == 0 ? .reading : .writing
                    kernel.take(
                        machine.wait(next, for: descriptor, readiness, watching: random.next() % 2 == 0, "\(next)"))
                    model.append((next, descriptor, readiness))
                case 3:
                    let id = random.next() % (next + 1)
                    let found = machine.cancel(id)
                    #expect(found?.0 == (model.contains { $0.id == id } ? "\(id)" : nil))
                    if let found { kernel.take(found.1) }
                    model.removeAll { $0.id == id }
                case 4:
                    let waiting = model.filter { $0.descriptor == descriptor }.map { "\($0.id)" }
                    #expect(machine.refused(descriptor) == waiting)
                    kernel.armed[descriptor] = nil
                    model.removeAll { $0.descriptor == descriptor }
                default:
                    guard var event = kernel.armed[descriptor] else { continue }
                    event.readiness = [Readiness.reading, .writing, .hungUp][Int(random.next() % 3)]
                    let hits = model.filter {
                        $0.descriptor == descriptor && (event.readiness == .hungUp || $0.readiness == event.readiness)
                    }
                    let (ready, change) = machine.ready(event)
                    #expect(ready == hits.map { "\($0.id)" })
                    kernel.take(change)
                    model.removeAll { entry in hits.contains { $0.id == entry.id } }
                }
                // Armed for all that is waited for, and for nothing else.
                for descriptor in CInt(0)..<4 {
                    let wanted = model.filter { $0.descriptor == descriptor }
                    let armed = kernel.armed[descriptor]
                    #expect((armed == nil) == wanted.isEmpty)
                    for entry in wanted { #expect(armed?.readiness.isSuperset(of: entry.readiness) == true) }
                }
                #expect(machine.waiters == model.count)
            }
        }
    }
}
