/// A task that follows a sequence for an object, and ends when the object is released.
///
///     @MainActor final class Thermometer {
///         private(set) var degrees = 0
///         private var following: Following?
///
///         init(_ measurements: AsyncStream<Int>) {
///             following = Following(measurements, for: self) { thermometer, degrees in thermometer.degrees = degrees }
///         }
///     }
///
/// The object stores this value, and the task has a weak reference to the object. The end of this value cancels the task. So this is the
/// one task that its owner doesn't await: an object can't wait while it is released.
package final class Following: Sendable {
    private let task: Task<Void, Never>

    /// Iterates a sequence on the main actor, in a new task.
    ///
    /// - Parameters:
    ///   - sequence: The sequence.
    ///   - owner: The object that stores the result.
    ///   - take: A function that is called with the owner and each element.
    ///   - ended: A function that is called with the owner and the error, if any, when the sequence ends by itself.
    @MainActor package init<Owner: AnyObject & Sendable, Source: AsyncSequence>(
        _ sequence: Source, for owner: Owner, take: @escaping @MainActor (Owner, Source.Element) -> Void,
        ended: @escaping @MainActor (Owner, (any Error)?) -> Void = { _, _ in }
    ) {
        task = Task { @MainActor [weak owner] in
            var failure: (any Error)?
            do {
                for try await element in sequence {
                    guard let owner, !Task.isCancelled else { return }
                    take(owner, element)
                }
            } catch {
                failure = error
            }
            guard let owner, !Task.isCancelled else { return }
            ended(owner, failure)
        }
    }

    deinit { task.cancel() }
}
