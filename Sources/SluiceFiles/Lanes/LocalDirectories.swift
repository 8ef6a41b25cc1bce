internal import SluiceLock

/// The directories in which files are opened without asking another machine or process, with the device that each is on.
///
/// Found by lanes that may block, with a descriptor at hand; asked before a thread that must not. A directory over which
/// something else is mounted later is noticed by its device, after one open. Bounded: when it is full it begins again.
final class LocalDirectories: Sendable {
    private static var most: Int { 4096 }

    private struct State {
        var devices: [Substring: UInt64] = [:]
        var isStopped = false
    }
    private let state = Lock(State())

    /// The device of the directory that holds this path, nil where that may be anywhere.
    func device(for path: String) -> UInt64? {
        let directory = Self.directory(of: path)
        return state.withLock { $0.devices[directory] }
    }

    /// Takes note of the file system that a file in a directory was found on.
    func learn(_ path: String, device: UInt64) {
        let directory = Substring(String(Self.directory(of: path)))
        state.withLock { state in
            if state.isStopped { return }
            if state.devices.count >= Self.most { state.devices.removeAll(keepingCapacity: true) }
            state.devices[directory] = device
        }
    }

    func forget(_ path: String) {
        let directory = Self.directory(of: path)
        state.withLock { _ = $0.devices.removeValue(forKey: directory) }
    }

    /// Learns nothing from now on: the kernel has no such way to open.
    func stop() {
        state.withLock { state in
            state.isStopped = true
            state.devices = [:]
        }
    }

    /// A part of the path itself: looking up makes no string.
    private static func directory(of path: String) -> Substring {
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "" }
        return path[..<slash]
    }
}
