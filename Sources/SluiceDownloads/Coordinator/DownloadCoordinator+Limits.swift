extension DownloadCoordinator {
    /// Limits on the number of downloads that run concurrently.
    public struct Limits: Sendable, Hashable {
        /// The maximum number of running downloads.
        public var total: Int
        /// The maximum number of running downloads from one host and port; `nil` for no such limit.
        public var perHost: Int?
        /// The maximum number of running downloads for one user; `nil` for no such limit. Requests without a user aren't counted. If a user
        /// leaves a download that others have requested too, it counts for one of them, and this user can then have more for a while.
        public var perUser: Int?

        /// Creates limits, each of which must be at least 1.
        public init(total: Int = 8, perHost: Int? = 6, perUser: Int? = nil) {
            precondition(
                total >= 1 && perHost ?? 1 >= 1 && perUser ?? 1 >= 1,
                "Each limit of a coordinator must be at least 1; they are \(total), \(perHost ?? 1) and \(perUser ?? 1)."
            )
            self.total = total
            self.perHost = perHost
            self.perUser = perUser
        }
    }
}
