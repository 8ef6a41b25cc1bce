public import Observation

/// The newest value of an asynchronous sequence, for a user interface to observe.
///
///     struct TransferView: View {
///         let transfer: Transfer
///         @State private var progress = Latest(initial: Progress())
///
///         var body: some View {
///             Text(progress.value.description)
///                 .task { await progress.follow(transfer.changes) }
///         }
///     }
///
/// It is structured: the task that calls ``follow(_:)`` iterates the sequence, and no other task is started. When the view
/// disappears, its task is cancelled, and with it the iteration. The value stays.
///
/// **Isolation.** It lives on the main actor, and so does the iteration: the sequence and its elements needn't be `Sendable`.
///
/// **What is observed.** ``value``, ``failure`` and ``isFollowing`` are tracked each for itself. Several changes before the
/// interface draws are one update, which shows the newest value.
@MainActor @Observable
public final class Latest<Value> {
    /// The newest value, or the initial one while there is none.
    public private(set) var value: Value

    /// The error with which the last ``follow(_:)`` ended; nil while it runs, and if it ended without one or was cancelled.
    public private(set) var failure: (any Error)?

    /// Whether a call of ``follow(_:)`` runs.
    public var isFollowing: Bool { followerCount > 0 }

    private var followerCount = 0
    /// The number of the call that began last. Only that one changes the value and the failure.
    @ObservationIgnored private var newestCall = 0

    /// Creates an object that shows `initial` until a sequence has given an element.
    ///
    ///     @MainActor final class Screen {
    ///         let progress = Latest(initial: Progress())
    ///     }
    public init(initial: Value) {
        value = initial
    }

    /// Iterates a sequence on the calling task, and makes each element the ``value``.
    ///
    ///     await progress.follow(transfer.changes)
    ///
    /// It returns when the sequence ends or fails, and doesn't throw: an error becomes the ``failure``. To follow another
    /// sequence, call it again. A call that begins while another runs takes over: the elements and the error of the other
    /// are ignored from then on, and that one returns at its next element.
    ///
    /// **Cancellation** of the calling task cancels the iteration. The value stays, and an error that comes of the
    /// cancellation is no failure.
    public func follow<Source: AsyncSequence>(_ sequence: Source) async where Source.Element == Value {
        newestCall += 1
        let call = newestCall
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
