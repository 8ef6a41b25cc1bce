#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

extension FileIO {
    /// The place where an operation runs. The engine chooses one for each operation: see ``Statistics/completions``.
    public enum Lane: String, Sendable, Hashable, CaseIterable {
        /// The calling thread: reads of up to 1 MiB of bytes that are already in memory. See preadv2(2), RWF_NOWAIT.
        case inline
        /// A pool of the engine's threads, which may block. Always available.
        case pool
        /// One thread of the engine that waits for many descriptors: FIFOs, pipes, terminals, sockets. Always available, with poll(2)
        /// where there is no epoll(7).
        case readiness
    }

    /// The lanes of this engine's configuration that the system offers: all three on Linux 5.12 and later. See <doc:LanesAndStatistics>.
    public var lanes: Set<Lane> {
        var lanes = configuration.lanes.union([.pool, .readiness])
        if !inline.isUsed { lanes.remove(.inline) }
        return lanes
    }
}

extension FileIO.Configuration {
    /// All lanes, or those that the environment variable `SLUICE_FILES_LANES` names, separated by commas. An unknown name traps.
    public static var defaultLanes: Set<FileIO.Lane> {
        guard let names = ProcessInfo.processInfo.environment["SLUICE_FILES_LANES"], !names.isEmpty else {
            return Set(FileIO.Lane.allCases)
        }
        return Set(
            names.split(separator: ",").map { name in
                guard let lane = FileIO.Lane(rawValue: name.filter { $0 != " " }) else {
                    let known = FileIO.Lane.allCases.map(\.rawValue).joined(separator: ", ")
                    // No error is thrown, because engines are created in initializers that can't throw.
                    fatalError("SLUICE_FILES_LANES must name lanes from \(known); it names '\(name)'.")
                }
                return lane
            })
    }
}
