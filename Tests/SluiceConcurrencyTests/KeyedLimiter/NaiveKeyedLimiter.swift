/// A keyed limiter as one would write it without care for speed: what the explorer compares with.
struct NaiveKeyedLimiter {
    let perKey: Int
    let total: Int
    /// The keys of the bodies that run.
    var running: [String] = []
    /// The waiting tasks, in order of arrival.
    var line: [(task: Int, key: String)] = []
    /// The keys in the order of their turns: the one that has waited longest for its turn comes first.
    var turns: [String] = []

    private func mayRun(_ key: String) -> Bool {
        running.count < total && running.filter { $0 == key }.count < perKey
    }

    /// Returns whether the task may run immediately.
    mutating func enter(_ task: Int, _ key: String) -> Bool {
        if mayRun(key) {
            running.append(key)
            return true
        }
        line.append((task, key))
        arrange()
        return false
    }

    /// Returns the task that takes over the place.
    mutating func leave(_ key: String) -> Int? {
        running.remove(at: running.firstIndex(of: key)!)
        arrange()
        guard let next = turns.first, let index = line.firstIndex(where: { $0.key == next }) else { return nil }
        running.append(next)
        turns.removeFirst()
        let task = line.remove(at: index).task
        arrange()
        return task
    }

    /// Returns whether the task was in line.
    mutating func cancel(_ task: Int) -> Bool {
        guard let index = line.firstIndex(where: { $0.task == task }) else { return false }
        line.remove(at: index)
        arrange()
        return true
    }

    /// A key with waiting tasks below its limit has a turn, in the order in which it got there.
    private mutating func arrange() {
        let wanting = line.map(\.key).filter { key in running.filter { $0 == key }.count < perKey }
        turns.removeAll { !wanting.contains($0) }
        for key in wanting where !turns.contains(key) { turns.append(key) }
    }
}
