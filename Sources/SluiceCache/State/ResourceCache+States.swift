import SluiceHTTP

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension ResourceCache {
    /// Returns the states of a resource while it is looked up and fetched, for a user interface. For images and other decoded values, see
    /// ``DecodedCache/states(of:)``.
    ///
    /// Each iteration of the sequence is one request, as with ``data(for:)``.
    public func states(of url: URL) -> ResourceStates<Data> {
        ResourceStates(
            valueInMemory: { self.freshInMemory(url)?.body },
            load: {
                try self.checkOpen(for: url)
                let (answer, data) = try await self.dataAnswer(to: CacheRequest(TransportRequest(url)))
                return (data, answer.response.source)
            }, observers: progress, key: ResponseKey(TransportRequest(url)))
    }
}

extension DecodedCache {
    /// Returns the states of a resource while it is looked up, fetched and decoded, for a user interface.
    ///
    ///     for await state in images.states(of: url) { show(state) }
    ///
    /// In a view, a `Latest` of SluiceObservation follows the states. Its `value` is the newest one:
    /// `.task(id: url) { await image.follow(images.states(of: url)) }`.
    ///
    /// If the value is in memory, the first state is ``ResourceState/ready(_:from:)``. Each iteration of the sequence is one request, as with
    /// ``value(for:)``: when the view disappears, its task is cancelled, and so is the request, unless another caller waits for it.
    public func states(of url: URL) -> ResourceStates<Value> {
        ResourceStates(
            valueInMemory: { self.valueInMemory(for: url) },
            load: { try await self.loaded(url) },
            observers: resources.progress, key: ResponseKey(TransportRequest(url)))
    }
}
