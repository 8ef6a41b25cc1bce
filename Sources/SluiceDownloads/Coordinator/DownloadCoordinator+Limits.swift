extension DownloadCoordinator {
    /// How many downloads run concurrently: in total, from one host, for one user.
    public struct Limits: Sendable, Hashable {
        /// In total.
        public var total: Int
        /// From one host and port; nil is no limit of its own.
        public var perHost: Int?
        /// For one user; nil is no limit of its own. Requests without a user are not limited by this.
        public var perUser: Int?

        /// Limits, each at least 1.
        public init(total: Int = 8, perHost: Int? = 6, perUser: Int? = nil) {
            precondition(
                total >= 1 && perHost ?? 1 >= 1 && perUser ?? 1 >= 1,
                "DownloadCoordinator.Limits: each limit is at least 1, not \(total), \(perHost ?? 1), \(perUser ?? 1).")
            self.total = total
            self.perHost = perHost
            self.perUser = perUser
        }
    }
}
