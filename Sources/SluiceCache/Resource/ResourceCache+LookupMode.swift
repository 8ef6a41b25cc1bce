extension ResourceCache {
    /// How a request uses stored responses, in addition to its `Cache-Control` field.
    public struct LookupMode: Sendable, Hashable {
        private enum Value: Sendable { case useCache, reload, cacheOnly, staleIfOffline }
        private let value: Value

        /// As HTTP's rules allow.
        public static let useCache = Self(value: .useCache)
        /// Not at all. The response is stored.
        public static let reload = Self(value: .reload)
        /// Only stored responses. A stale response is used unless its server forbids that. If no response is suitable, the status is 504.
        public static let cacheOnly = Self(value: .cacheOnly)
        /// As HTTP's rules allow. If the server can't be reached, a stale response is used unless its server forbids that.
        public static let staleIfOffline = Self(value: .staleIfOffline)
    }
}
