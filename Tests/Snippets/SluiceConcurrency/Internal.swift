// What the samples in doc comments of declarations that are not public take for granted.
@testable import SluiceConcurrency
import Synchronization

struct Machine: Sendable {
    func suspend(_ ticket: Int, _ waiter: UnsafeContinuation<Outcome, Never>) -> Outcome? { nil }
}
enum Outcome: Sendable { case cancelled }

let machine = Mutex(Machine())
let ticket = 0

func expire(_ ticket: Int) {}
func suspend(_ ticket: Int) async -> Bool { true }
func leave(_ ticket: Int, _ outcome: Outcome) {}
