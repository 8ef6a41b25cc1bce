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
                let answer = try await self.answer(to: CacheRequest(TransportRequest(url)))
                return (try await self.data(of: answer, url), answer.response.source)
            }, observers: progress, key: ResponseKey(TransportRequest(url)))
    }
}

extension DecodedCache {
    /// Returns the states of a resource while it is looked up, fetched and decoded, for a user interface.
    ///
    ///     struct Cover: View {
    ///         let url: URL
    ///         @State private var image = Latest(initial: ResourceState<EncodedImage>.waiting)     // in SluiceObservation
    ///
    ///         var body: some View {
    ///             CoverContent(state: image.value)            // a value, a progress or an error
    ///                 .task(id: url) { await image.follow(images.states(of: url)) }
    ///         }
    ///     }
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
