import DequeModule
import HeapModule

/// The jobs of a line that can be claimed, by priority and then by number.
struct MemoryQueueLine {
    /// One level for each priority, highest first. There are rarely more than a few.
    private var levels: [(priority: Int, jobs: Deque<JobID>)] = []

    var isEmpty: Bool { levels.isEmpty }

    /// Inserts a job: a new one at the end, and a job that goes back to waiting near the front. Both are close to O(1).
    mutating func insert(_ id: JobID, priority: Int) {
        let index = levels.firstIndex { $0.priority <= priority } ?? levels.endIndex
        if index == levels.endIndex || levels[index].priority != priority {
            levels.insert((priority, [id]), at: index)
        } else if levels[index].jobs.last! < id {
            levels[index].jobs.append(id)
        } else {
            levels[index].jobs.insert(id, at: Self.index(of: id, in: levels[index].jobs))
        }
    }

    mutating func remove(_ id: JobID, priority: Int) {
        guard let level = levels.firstIndex(where: { $0.priority == priority }) else { return }
        let index = Self.index(of: id, in: levels[level].jobs)
        guard index < levels[level].jobs.count, levels[level].jobs[index] == id else { return }
        levels[level].jobs.remove(at: index)
        if levels[level].jobs.isEmpty { levels.remove(at: level) }
    }

    func isFirst(_ id: JobID) -> Bool { levels.first?.jobs.first == id }

    func first(where fits: (JobID) -> Bool) -> (priority: Int, id: JobID)? {
        for level in levels {
            if let id = level.jobs.first(where: fits) { return (level.priority, id) }
        }
        return nil
    }

    private static func index(of id: JobID, in jobs: Deque<JobID>) -> Int {
        var range = 0..<jobs.count
        while !range.isEmpty {
            let middle = (range.lowerBound + range.upperBound) / 2
            if jobs[middle] < id { range = middle + 1..<range.upperBound } else { range = range.lowerBound..<middle }
        }
        return range.lowerBound
    }
}
