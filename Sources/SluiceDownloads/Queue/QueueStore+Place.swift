import SluiceFiles

extension QueueStore {
    /// This machine, for ``JobClaim/place`` and ``EnqueueOptions/place``, or `nil` if all workers of the store are on one machine.
    package var place: String? { spansMachines ? HostName.current : nil }
}
