internal import SluiceLock

/// The directories on local file systems, where opening a file never waits for another machine or process, with their devices.
///
/// Lanes that may block add the directory of an open file. The inline lane looks directories up. If another file system is mounted over
/// a directory later, the device of the next opened file shows it. When the table is full, it is emptied.
final class LocalDirectories: Sendable {
    private static var most: Int { 4096 }

    private struct State {
        var devices: [Substring: UInt64] = [:]
        var isStopped = false
    }
    private let state = Lock(State())

    func device(for path: String) -> UInt64? {
        let directory = Self.directory(of: path)
        return state.withLock { $0.devices[directory] }
    }

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

    /// Removes all directories and adds none from now on, because the kernel can't open files from memory.
    func stop() {
        state.withLock { state in
            state.isStopped = true
            state.devices = [:]
        }
    }

    /// Returns a `Substring`, so that a lookup allocates no string.
    private static func directory(of path: String) -> Substring {
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "" }
        return path[..<slash]
    }
}
