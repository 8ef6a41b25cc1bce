@testable import SluiceConcurrency

extension ConcurrencyLimiter {
    struct NoPlace: Error {}

    /// A place that is known to be free.
    func take(_ weight: Int = 1) throws -> Permit {
        guard let permit = tryAcquire(weight: weight) else { throw NoPlace() }
        return permit
    }

    /// Whether there is no place; one that there is is given back.
    func refuses(_ weight: Int = 1) -> Bool {
        switch tryAcquire(weight: weight) {
        case .none: true
        case .some: false
        }
    }
}
