import SluiceFiles
import Testing

struct RandomAccessUse {
    /// All interleavings of a few events, without tasks: the descriptor is closed once, when nothing uses it, and all tasks that
    /// wait are woken.
    @Test func `in every order the count lets the descriptor be closed once and wakes all`() {
        enum Event: CaseIterable { case begin, end, close, closed }
        func explore(_ use: DescriptorUse<Int>, _ model: Model, depth: Int) {
            if depth == 0 { return }
            for event in Event.allCases {
                var (use, model) = (use, model)
                switch event {
                case .begin:
                    let began = use.begin()
                    #expect(began == !model.isClosing)
                    if began { model.running += 1 }
                case .end:
                    guard model.running > 0 else { continue }
                    model.running -= 1
                    if let woken = use.end() {
                        #expect(model.running == 0)
                        model.give(.close, to: woken)
                    }
                case .close:
                    guard model.waiters < 3 else { continue }
                    model.isClosing = true
                    model.waiters += 1
                    if let turn = use.close(model.waiters) { model.give(turn, to: model.waiters) }
                case .closed:
                    guard model.turns.values.contains(.close), !model.isClosed else { continue }
                    #expect(model.running == 0)
                    model.isClosed = true
                    for woken in use.closed() { model.give(.nothing, to: woken) }
                }
                // No task is forgotten: a waiting task waits for an operation, or for the closing task.
                #expect(model.turns.values.count { $0 == .close } <= 1)
                if model.isClosing && model.running == 0 { #expect(model.turns.values.contains(.close)) }
                if model.isClosed { #expect(model.turns.count == model.waiters) }
                explore(use, model, depth: depth - 1)
            }
        }
        explore(DescriptorUse(), Model(), depth: 9)
    }

    private struct Model {
        var running = 0
        var waiters = 0
        var isClosing = false
        var isClosed = false
        var turns: [Int: ClosingTurn] = [:]

        mutating func give(_ turn: ClosingTurn, to waiter: Int) {
            #expect(turns.updateValue(turn, forKey: waiter) == nil, "woken twice")
        }
    }
}
