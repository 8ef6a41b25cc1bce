#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

extension FileIO {
    /// Where an operation runs.
    ///
    /// The engine chooses one for each operation; none of them blocks a thread of Swift's cooperative pool. Which were taken
    /// is in ``Statistics/completions``.
    public enum Lane: String, Sendable, Hashable, CaseIterable {
        /// On the calling thread: reads of up to 1 MiB whose bytes are in memory already. See preadv2(2), RWF_NOWAIT.
        case inline
        /// On threads of the engine that may block. There is always this one.
        case pool
        /// On one thread of the engine that waits for many descriptors: FIFOs, pipes, terminals, sockets. There is
        /// always this one: with poll(2), where there is no epoll(7).
        case readiness
    }

    /// The lanes that this engine uses: those of its configuration that the system offers.
    ///
    ///     FileIO.shared.lanes      // [.inline, .pool, .readiness] on Linux 5.12 and later
    ///
    /// In containers that deny a call, its lane is missing here, and the pool does the work.
    public var lanes: Set<Lane> {
        var lanes = configuration.lanes.union([.pool, .readiness])
        if !inline.isUsed { lanes.remove(.inline) }
        return lanes
    }
}

extension FileIO.Configuration {
    /// All lanes, or those that the environment variable `SLUICE_FILES_LANES` names, with commas between: a way to find out
    /// whether a lane is to blame, without another build.
    ///
    /// ```sh
    /// SLUICE_FILES_LANES=pool swift test
    /// ```
    ///
    /// A name that is no lane's stops the program, as a typing error would otherwise go unnoticed.
    public static var defaultLanes: Set<FileIO.Lane> {
        guard let names = ProcessInfo.processInfo.environment["SLUICE_FILES_LANES"], !names.isEmpty else {
            return Set(FileIO.Lane.allCases)
        }
        return Set(
            names.split(separator: ",").map { name in
                guard let lane = FileIO.Lane(rawValue: name.filter { $0 != " " }) else {
                    let known = FileIO.Lane.allCases.map(\.rawValue).joined(separator: ", ")
                    // Not a throw: engines are made where nothing is caught, and a setting that is passed over shows nothing.
                    fatalError("SLUICE_FILES_LANES: '\(name)' is no lane. Lanes are: \(known).")
                }
                return lane
            })
    }
}
