/// The predicate or claim of one waiting task, and its result.
///
/// Tried when the wait starts, and at each change of the state until it succeeds.
final class MonitorAttempt<State: Sendable, Claimed: Sendable, Failure: Error>: @unchecked Sendable {
    // The lock of `MonitorStorage` protects `result` until the attempt has succeeded; then only the waiting task reads it. The
    // other properties never change.

    /// Whether a success changes the state, so that other waiting tasks may be served.
    let changesState: Bool
    private let claim: @Sendable (inout State) throws(Failure) -> Claimed?
    private(set) var result: Result<Claimed, Failure>?

    init(claiming claim: @escaping @Sendable (inout State) throws(Failure) -> Claimed?) {
        changesState = true
        self.claim = claim
    }

    init(where predicate: @escaping @Sendable (State) throws(Failure) -> Bool) where Claimed == Void {
        changesState = false
        claim = { (state: inout State) throws(Failure) in try predicate(state) ? () : nil }
    }

    /// Returns whether the wait is over, because the claim has succeeded or thrown.
    func succeeds(_ state: inout State) -> Bool {
        do throws(Failure) {
            result = try claim(&state).map { .success($0) }
        } catch {
            result = .failure(error)
        }
        return result != nil
    }
}
