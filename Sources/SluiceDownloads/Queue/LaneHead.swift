/// A lane, and the job that is claimed from it next. A lane is a pair of host and user, by which the limits count.
struct LaneHead<Lane>: Comparable {
    var priority: Int
    var job: Int64
    var lane: Lane

    /// The job that is claimed first is the least.
    static func < (one: Self, other: Self) -> Bool {
        (other.priority, one.job) < (one.priority, other.job)
    }

    static func == (one: Self, other: Self) -> Bool {
        (one.priority, one.job) == (other.priority, other.job)
    }
}

extension LaneHead: Sendable where Lane: Sendable {}
