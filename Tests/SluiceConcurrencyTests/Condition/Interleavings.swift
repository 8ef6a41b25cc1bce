/// Calls `visit` with each order in which the steps of several tasks can happen, each task's own steps in their order.
func forEachInterleaving<Step>(of tasks: [[Step]], _ visit: ([Step]) -> Void) {
    func extend(_ order: [Step], _ positions: [Int]) {
        var isComplete = true
        for task in tasks.indices where positions[task] < tasks[task].count {
            isComplete = false
            var next = positions
            next[task] += 1
            extend(order + [tasks[task][positions[task]]], next)
        }
        if isComplete { visit(order) }
    }
    extend([], tasks.map { _ in 0 })
}
