/// How far a long operation has come.
///
///     try await files.copy(film, to: backup) { progress in
///         if let fraction = progress.fractionCompleted { bar.show(fraction) }
///     }
///
/// Every long operation of this module reports in this form, to a closure `@Sendable (FileProgress) -> Void`:
///
/// - It is called on a thread of the engine, after each 4 MiB or 128 entries, and once more with ``isFinished`` when all is
///   done. An operation that throws makes no last report: the error is the end.
/// - Reports come one after the other, each at least as far as the one before, and none after the operation has returned.
/// - The work waits for the closure: hand on the value (to a `Mutex`, an `AsyncStream`) and return.
public struct FileProgress: Sendable, Hashable {
    /// The bytes that are done. In a copy, holes and blocks that are shared count like bytes that were written.
    public var completedBytes: Int64

    /// The bytes that there are, as far as is known; nil where that is unknown (a pipe, a tree that was not counted).
    ///
    /// It is what the file system says at the beginning. A file in /proc says 0, and one that shrinks is done before that.
    public var totalBytes: Int64?

    /// The files, directories and links that are done.
    public var completedEntries: Int

    /// The files, directories and links that there are; nil where that is unknown.
    public var totalEntries: Int?

    /// Whether this is the last report: everything is done, durability included.
    public var isFinished: Bool

    /// Makes a progress.
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

    /// How much is done, from 0 to 1: of the bytes where their total is known, else of the entries, else nil.
    ///
    /// Exactly 1 in the last report, and less in all others.
    public var fractionCompleted: Double? {
        if isFinished { return 1 }
        if let totalBytes, totalBytes > 0 { return Self.fraction(completedBytes, of: totalBytes) }
        if let totalEntries, totalEntries > 0 { return Self.fraction(completedEntries, of: totalEntries) }
        return nil
    }

    /// Less than 1: there may be more than was told, and the sync is still to come.
    private static func fraction<Count: BinaryInteger>(_ completed: Count, of total: Count) -> Double {
        min(Double(completed) / Double(total), 0.999)
    }
}
