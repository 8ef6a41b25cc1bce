import Foundation
import SluiceConcurrency
import TestSupport

/// A point in a system call at which a thread stops until the test lets it go on.
///
///     let held = HeldCall()
///     calls.read = { descriptor, bytes in
///         defer { held.stopIfArmed() }
///         return real.read(descriptor, bytes)
///     }
///     held.arm()
///     …
///     await held.arrival()
///     held.release()
final class HeldCall: Sendable {
    private let isArmed = Guarded(false)
    private let released = DispatchSemaphore(value: 0)
    private let (reached, reach) = Condition.makeCondition()

    /// The next call stops.
    func arm() { isArmed.withLock { $0 = true } }

    func stopIfArmed() {
        let stops = isArmed.withLock { isArmed in
            defer { isArmed = false }
            return isArmed
        }
        guard stops else { return }
        reach.signal()
        released.wait()
    }

    func arrival() async { _ = await reached.wait() }

    func release() { released.signal() }
}
