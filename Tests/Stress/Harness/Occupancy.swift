/// The number of running bodies, and the largest number that ran concurrently.
final class Occupancy: Sendable {
    let now = Counter()
    let most = Counter()

    func enter() { most.keepMaximum(now.add()) }
    func leave() { now.add(-1) }

    /// Enters, yields, and leaves.
    func visit() async {
        enter()
        // Part of the race: without it, no two visits overlap on one thread.
        await Task.yield()
        leave()
    }
}
