public import Observation

/// The newest value of an asynchronous sequence, for a user interface to observe.
///
///     struct TransferView: View {
///         let transfer: Transfer
///         @State private var progress = Latest(Progress())
///
///         var body: some View {
///             Text(progress.value.description)
///                 .task { await progress.follow(transfer.changes) }
///         }
///     }
///
/// The task that calls ``follow(_:)`` iterates the sequence. When the view disappears, SwiftUI cancels this task, which ends the iteration.
/// The value stays.
///
/// In a model without views, ``init(_:following:)`` creates an object that iterates a sequence until it is released.
///
/// **Isolation.** The object and the iteration are isolated to the main actor, so the sequence and its elements needn't be `Sendable`.
///
/// **Observation.** Changes of ``value``, ``failure`` and ``isFollowing`` are tracked separately. If the value changes several times before
/// the next update of the interface, the interface shows the newest one.
@MainActor @Observable
public final class Latest<Value> {
    /// The newest element, or the initial value before the first element.
    public private(set) var value: Value

    /// The error that ended the last sequence; `nil` while a sequence is followed, or if the last one was cancelled or ended without an
    /// error.
    public private(set) var failure: (any Error)?

    /// Whether a sequence is followed.
    public var isFollowing: Bool { followerCount > 0 }

    private var followerCount = 0
    /// The number of the most recent call. Only that call changes the value and the failure.
    @ObservationIgnored private var newestCall = 0
    @ObservationIgnored private var following: Following?

    /// Creates an object whose value is `initial` until the first element of a sequence.
    public init(_ initial: Value) {
        value = initial
    }

    /// Creates an object that iterates a sequence until the object is released, and assigns each element to ``value``.
    ///
    ///     @MainActor final class TransferModel {
    ///         let progress: Latest<Progress>
    ///
    ///         init(_ transfer: Transfer) {
    ///             progress = Latest(Progress(), following: transfer.changes)
    ///         }
    ///     }
    ///
    /// The object owns the task that iterates, and the task has only a weak reference to the object. Releasing the object cancels the task.
    /// If you also call ``follow(_:)``, that call replaces this iteration.
    public convenience init<Source: AsyncSequence>(_ initial: Value, following sequence: Source)
    where Source.Element == Value {
        self.init(initial)
        followerCount = 1
        following = Following(sequence, for: self) { latest, element in
            latest.value = element
        } ended: { latest, error in
            latest.following = nil
            latest.followerCount -= 1
            if let error { latest.failure = error }
        }
    }

    /// Iterates a sequence in the calling task and assigns each element to ``value``.
    ///
    /// The method returns when the sequence ends or throws. It doesn't throw: an error becomes the ``failure``. If another call is running,
    /// the new call replaces it: the elements and the error of the older call are ignored, and the older call returns at its next element.
    ///
    /// **Cancellation** of the calling task ends the iteration. The value stays, and an error after the cancellation doesn't become the
    /// failure.
    public func follow<Source: AsyncSequence>(_ sequence: Source) async where Source.Element == Value {
        newestCall += 1
        let call = newestCall
        if following != nil {
            // The task is cancelled, so it doesn't report its end.
            following = nil
            followerCount -= 1
        }
        followerCount += 1
        defer { followerCount -= 1 }
        if failure != nil { failure = nil }
        do {
            for try await element in sequence {
                guard call == newestCall, !Task.isCancelled else { return }
                value = element
            }
        } catch {
            if call == newestCall, !Task.isCancelled { failure = error }
        }
    }
}

// MARK: - Following

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
/// The object stores this value, and the task has a weak reference to the object. Releasing this value cancels the task. This is the one
/// task that its owner doesn't await: an object can't wait while it is released.
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
