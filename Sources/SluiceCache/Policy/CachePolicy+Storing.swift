import HTTPTypes
import SluiceHTTP

// Whether a response may be stored (RFC 9111, section 3).
extension CachePolicy {
    /// The statuses that are cacheable without explicit freshness (RFC 9110, section 15.1).
    static let cacheableStatuses: Set<Int> = [200, 203, 204, 206, 300, 301, 308, 404, 405, 410, 414, 501]

    /// The statuses with caching rules that this policy follows: those above, redirects and "not modified".
    private static let understoodStatuses = cacheableStatuses.union([302, 303, 304, 307])

    /// The statuses about the conditions or the range of a request. The response is no answer to other requests.
    private static let statusesOfConditions: Set<Int> = [304, 412, 416]

    /// Returns whether the response to a request may be stored, and can be used or validated later.
    func mayStore(_ head: StoredResponse.Head, for request: TransportRequest) -> Bool {
        switch request.method {
        case .get: mayStore(head, requestControl: CacheControl(request.headerFields, rules: rules))
        case .post: mayStorePost(head, for: request)
        default: false
        }
    }

    private func mayStore(_ head: StoredResponse.Head, requestControl: CacheControl) -> Bool {
        if rules[.requestNoStore], requestControl.noStore { return false }
        return mayStore(head) && (!rules[.usefulOnly] || isUseful(head))
    }

    /// Returns whether the server allows to store the response to a `GET`.
    func mayStore(_ head: StoredResponse.Head) -> Bool {
        let (status, control) = (head.status, head.control)
        // Other numbers are invalid (RFC 9110, section 15).
        guard (200..<600).contains(status) else { return false }
        if rules[.answersToConditions], Self.statusesOfConditions.contains(status) { return false }
        // In the cache of one user, `private` and `Authorization` need no rule (sections 3.5 and 5.2.2.7).
        if control.mustUnderstand, rules[.mustUnderstand] {
            guard Self.understoodStatuses.contains(status) else { return false }
        } else if control.noStore, rules[.responseNoStore] {
            return false
        }
        if rules[.varyStar],
            (head.fields[.vary] ?? "").split(separator: ",").contains(where: { $0.trimmingSpaces() == "*" })
        {
            return false
        }
        // A part without a valid range can't be told from the whole (section 3.3), and a whole with a range may be a part.
        if status == 206 ? head.part == nil : head.fields[.contentRange] != nil { return false }
        return !rules[.unknownStatusNeedsPermission] || Self.cacheableStatuses.contains(status)
            || control.isPublic || control.isPrivate || head.hasExplicitFreshness
    }

    /// Returns whether the response is fresh on arrival, can be validated, or may be used while it is stale.
    private func isUseful(_ head: StoredResponse.Head) -> Bool {
        isFresh(head, at: head.received)
            || conditions(for: head) != nil
            || mayBeStale(head)
                && max(head.control.staleWhileRevalidate ?? 0, head.control.staleIfError ?? 0) > 0
    }

    /// The response to a `POST` is the state of the resource if it says so (RFC 9110, section 9.3.3). `GET` can use it then.
    private func mayStorePost(_ head: StoredResponse.Head, for request: TransportRequest) -> Bool {
        guard head.status == 200,
            mayStore(head, requestControl: CacheControl(request.headerFields, rules: rules))
        else { return false }
        if rules[.postNeedsFreshness], !head.hasExplicitFreshness { return false }
        guard rules[.postNeedsLocation] else { return true }
        guard let location = head.fields[.contentLocation] else { return false }
        return resolved(location, of: request.url).map { ResourceKey($0) } == ResourceKey(request.url)
    }
}
