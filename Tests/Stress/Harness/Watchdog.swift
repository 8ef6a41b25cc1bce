import Foundation
import TestSupport

/// Ends the program with a report when a scenario makes no step for too long.
///
/// A thread and no task, because it must run even if all threads of the pool spin or wait.
final class Watchdog: Sendable {
    private let watched = Guarded<Heat?>(nil)

    init(stall: Int, seed: UInt64) {
        let thread = Thread { [self] in
            var last: (heat: ObjectIdentifier, steps: Int)?
            var quiet = 0
            while true {
                Thread.sleep(forTimeInterval: 1)
                guard let heat = watched.withLock({ $0 }) else { continue }
                let now = (heat: ObjectIdentifier(heat), steps: heat.steps)
                quiet = last.map { $0 == now } == true ? quiet + 1 : 0
                last = now
                if quiet >= stall { Self.bark("\(heat.description); no step for \(stall) s", seed) }
            }
        }
        thread.start()
    }

    /// Watches this heat from now on.
    func watch(_ heat: Heat?) {
        watched.withLock { $0 = heat }
    }

    private static func bark(_ what: String, _ seed: UInt64) -> Never {
        FileHandle.standardError.write(Data("\n\nHANGS: \(what)\nseed \(seed)\n".utf8))
        abort()
    }
}
