/// What a task that waits for a monitor's state wants of it, and what it got.
///
/// One attempt is made when its owner comes, and one at each change until one succeeds.
final class MonitorAttempt<State: Sendable, Claimed: Sendable, Failure: Error>: @unchecked Sendable {
    // The lock of `MonitorStorage` protects `result` until the attempt has succeeded; then only the owner reads it. The others never
    // change.

    /// Whether success changes the state, which then may serve others.
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

    /// Makes an attempt; returns whether the wait is over, as the claim has succeeded or thrown.
    func succeeds(_ state: inout State) -> Bool {
        do throws(Failure) {
            result = try claim(&state).map { .success($0) }
        } catch {
            result = .failure(error)
        }
        return result != nil
    }
}
