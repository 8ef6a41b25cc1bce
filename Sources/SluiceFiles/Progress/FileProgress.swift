/// The progress of a long operation.
///
/// Every long operation of this module, such as ``FileIO/copy(_:to:options:progress:)``, passes its progress to a closure:
///
/// - The closure is called on a thread of the engine, after each 4 MiB or 128 entries, and once more with ``isFinished`` at the end. A
///   whole read of a FIFO or terminal uses no such thread: its only report, the last one, comes on the thread of the calling task. If the
///   operation throws, there is no last report.
/// - Reports come one after the other, never go backwards, and end before the operation returns.
/// - The operation waits for the closure, so pass the value on (to a `Mutex`, an `AsyncStream`) and return.
public struct FileProgress: Sendable, Hashable {
    /// The number of bytes done. A copy counts holes and shared blocks too.
    public var completedBytes: Int64

    /// The total number of bytes when the operation began, or `nil` if that is unknown (a pipe, a tree that wasn't counted). It can be
    /// wrong: a file in /proc has a size of 0, and a file may shrink.
    public var totalBytes: Int64?

    /// The number of files, directories and links done.
    public var completedEntries: Int

    /// The total number of files, directories and links, or `nil` if that is unknown.
    public var totalEntries: Int?

    /// Whether this is the last report: all work is done, including syncs.
    public var isFinished: Bool

    /// Creates a progress value.
    public init(
        completedBytes: Int64 = 0, totalBytes: Int64? = nil, completedEntries: Int = 0, totalEntries: Int? = nil,
        isFinished: Bool = false
    ) {
        self.completedBytes = completedBytes
        self.totalBytes = totalBytes
        self.completedEntries = completedEntries
        self.totalEntries = totalEntries
        self.isFinished = isFinished
    }

    /// The fraction done, from 0 to 1: of the bytes if their total is known, otherwise of the entries, otherwise `nil`. It's less than
    /// 1 until the last report.
    public var fractionCompleted: Double? {
        if isFinished { return 1 }
        if let totalBytes, totalBytes > 0 { return Self.fraction(completedBytes, of: totalBytes) }
        if let totalEntries, totalEntries > 0 { return Self.fraction(completedEntries, of: totalEntries) }
        return nil
    }

    /// Stays below 1: the file may be larger than reported, and the sync follows.
    private static func fraction<Count: BinaryInteger>(_ completed: Count, of total: Count) -> Double {
        min(Double(completed) / Double(total), 0.999)
    }
}
