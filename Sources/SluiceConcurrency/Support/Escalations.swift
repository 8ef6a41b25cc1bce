/// Runs a wait, and calls `raised` with the new priority whenever the priority of the task is raised, for example because a task of
/// higher priority awaits it.
///
/// ```text
/// let priority = Task.currentPriority
/// let ticket = waitingLine.join(priority)
/// await withEscalations(from: priority) {
///     await suspend(ticket)
/// } raised: { priority in
///     waitingLine.raise(ticket, to: priority)
/// }
/// ```
///
/// `priority` is the task's priority when it was last read. If it was raised between then and this call, `raised` is called immediately.
/// `raised` can be called at any time until the function returns, and on any thread. On Apple's systems before version 26, it is never
/// called.
func withEscalations<Outcome>(
    from priority: TaskPriority, _ wait: () async -> Outcome, raised: @escaping @Sendable (TaskPriority) -> Void
) async -> Outcome {
    if #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) {
        await withTaskPriorityEscalationHandler {
            let current = Task.currentPriority
            if current > priority { raised(current) }
            return await wait()
        } onPriorityEscalated: { _, new in
            raised(new)
        }
    } else {
        await wait()
    }
}
