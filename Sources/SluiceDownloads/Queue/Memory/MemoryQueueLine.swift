import DequeModule

/// The jobs of a lane that can be claimed, by priority and then by number.
struct MemoryQueueLine {
    /// One line for each priority, the highest first. There are seldom more than a few.
    private var lines: [(priority: Int, jobs: Deque<JobID>)] = []

    var isEmpty: Bool { lines.isEmpty }

    /// Inserts a job: a new one at the end, and one that waits again near the front. Both are O(1) or nearly.
    mutating func insert(_ id: JobID, priority: Int) {
        let place = lines.firstIndex { $0.priority <= priority } ?? lines.endIndex
        if place == lines.endIndex || lines[place].priority != priority {
            lines.insert((priority, [id]), at: place)
        } else if lines[place].jobs.last! < id {
            lines[place].jobs.append(id)
        } else {
            lines[place].jobs.insert(id, at: Self.place(of: id, in: lines[place].jobs))
        }
    }

    mutating func remove(_ id: JobID, priority: Int) {
        guard let line = lines.firstIndex(where: { $0.priority == priority }) else { return }
        let place = Self.place(of: id, in: lines[line].jobs)
        guard place < lines[line].jobs.count, lines[line].jobs[place] == id else { return }
        lines[line].jobs.remove(at: place)
        if lines[line].jobs.isEmpty { lines.remove(at: line) }
    }

    func isFirst(_ id: JobID) -> Bool { lines.first?.jobs.first == id }

    func first(where fits: (JobID) -> Bool) -> (priority: Int, id: JobID)? {
        for line in lines {
            if let id = line.jobs.first(where: fits) { return (line.priority, id) }
        }
        return nil
    }

    private static func place(of id: JobID, in jobs: Deque<JobID>) -> Int {
        var range = 0..<jobs.count
        while !range.isEmpty {
            let middle = (range.lowerBound + range.upperBound) / 2
            if jobs[middle] < id { range = middle + 1..<range.upperBound } else { range = range.lowerBound..<middle }
        }
        return range.lowerBound
    }
}
