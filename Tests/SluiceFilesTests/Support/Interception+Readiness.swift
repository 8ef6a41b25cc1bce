import SluiceFiles

extension Interceptor {
    /// Intercepts all calls that wait for descriptors.
    func wrap(_ calls: inout ReadinessCalls) {
        let real = calls
        wrap(.readinessMakeQueue, &calls.makeQueue)
        wrap(.readinessSetInterest, &calls.setInterest)
        wrap(.readinessRemoveInterest, &calls.removeInterest)
        wrap(.readinessSignal, &calls.signal)
        wrap(.readinessClear, &calls.clear)
        wrap(.readinessRead, &calls.read)
        wrap(.readinessWrite, &calls.write)
        wrap(.readinessKind, &calls.kind)
        wrap(.readinessNow, &calls.readiness)
        wrap(.readinessCanBeWaitedFor, &calls.canBeWaitedFor)
        wrap(.readinessFlags, &calls.flags)
        wrap(.readinessSetFlags, &calls.setFlags)
        wrap(.readinessReopen, &calls.reopen)
        calls.waitForEvents = { queue, milliseconds, events in
            run(.readinessWaitForEvents) { real.waitForEvents(queue, milliseconds, &events) }
        }
        calls.poll = { milliseconds, entries in run(.readinessPoll) { real.poll(milliseconds, &entries) } }
        calls.makeWakeup = { ends in run(.readinessMakeWakeup) { real.makeWakeup(&ends) } }
    }
}
