/// A limiter as one would write it if each operation happened at one moment: what the explorer compares with.
struct NaiveLimiter: Hashable {
    let limit: Int
    var running = 0
    var line: [Int] = []
    /// How the wait of each task ended that has not heard of it yet.
    var outcomes: [Int: Bool] = [:]

    /// Returns whether the task may run at once.
    mutating func enter(_ task: Int) -> Bool {
        if line.isEmpty && running < limit {
            running += 1
            return true
        }
        line.append(task)
        return false
    }

    /// Returns who takes over the place.
    mutating func leave() -> Int? {
        if line.isEmpty {
            running -= 1
            return nil
        }
        let next = line.removeFirst()
        outcomes[next] = true
        return next
    }

    /// Returns whether the task was in line.
    mutating func cancel(_ task: Int) -> Bool {
        guard let index = line.firstIndex(of: task) else { return false }
        line.remove(at: index)
        outcomes[task] = false
        return true
    }
}
