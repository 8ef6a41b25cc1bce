import SluiceFiles
import SluiceHTTP

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// What tells whether a file has been changed.
struct FileStamp: Sendable, Hashable {
    var size: Int64
    var seconds: Int64
    var nanoseconds: Int
    var inode: UInt64

    init(size: Int64, seconds: Int64, nanoseconds: Int, inode: UInt64) {
        (self.size, self.seconds, self.nanoseconds, self.inode) = (size, seconds, nanoseconds, inode)
    }

    init(_ status: FileStatus) {
        self.init(
            size: status.size, seconds: status.modificationTime.seconds,
            nanoseconds: status.modificationTime.nanoseconds, inode: status.identity.inode)
    }
}

/// What is known about the file of a name. Each fact is a line of a record file, whose fields are separated by tabs. The last field is a dot,
/// so that a line that was cut off is recognized.
///
/// ```text
/// begun <TAB> time <TAB> resource <TAB> name <TAB> .
/// done <TAB> time <TAB> resource <TAB> size <TAB> seconds <TAB> nanoseconds <TAB> inode <TAB> boot <TAB> validator <TAB> name <TAB> .
/// ```
///
/// A missing boot or validator is a dash. A name contains no control characters (`SafeFileName`). Unknown lines are skipped.
struct DownloadRecord: Sendable, Equatable {
    struct File: Sendable, Equatable {
        var stamp: FileStamp
        /// The boot until which the file is known to be complete; `nil` if it is on the disk.
        var boot: String?
        var validator: StoredValidator?
    }

    /// The digest of the URL, or of the identifier if the URL isn't known.
    var resource: String
    /// When the last line was written, in seconds since 1970.
    var time: Int64
    /// Whether a download began when the file didn't exist, and isn't known to have ended.
    var isBegun = false
    /// The file that the last download completed.
    var file: File?

    static func digest(of request: DownloadRequest) -> String { String(Checkpoint.digest(of: request.url).prefix(32)) }

    func lines(of name: String) -> [UInt8] {
        var lines: [UInt8] = []
        if let file {
            let stamp = file.stamp
            lines += Self.line([
                "done", "\(time)", resource, "\(stamp.size)", "\(stamp.seconds)", "\(stamp.nanoseconds)",
                "\(stamp.inode)", file.boot ?? "-", file.validator.flatMap(Self.text) ?? "-", name,
            ])
        }
        if isBegun { lines += Self.line(["begun", "\(time)", resource, name]) }
        return lines
    }

    private static func line(_ fields: [String]) -> [UInt8] {
        var line: [UInt8] = []
        line.reserveCapacity(fields.reduce(2) { $0 + $1.utf8.count + 1 })
        for field in fields {
            line += field.utf8
            line.append(UInt8(ascii: "\t"))
        }
        return line + ".\n".utf8
    }

    private static let longestValidator = 1000

    private static func text(_ validator: StoredValidator) -> String? {
        let field = validator.field
        guard field.utf8.count <= longestValidator, field.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else {
            return nil
        }
        return "\(validator.kind.rawValue) \(field)"
    }

    /// Returns the records by the names of their files. Calls `onLine` for each line.
    static func read(_ data: Data, notBefore oldest: Int64, onLine: () -> Void = {}) -> [String: DownloadRecord] {
        var records: [String: DownloadRecord] = [:]
        for line in [UInt8](data).split(separator: UInt8(ascii: "\n")) {
            onLine()
            guard let (name, found) = read(line), found.time >= oldest else { continue }
            var record = found
            // Another process may have completed the file between the check that it doesn't exist and this line.
            if record.isBegun, let known = records[name], known.resource == record.resource { record.file = known.file }
            records[name] = record
        }
        return records
    }

    private static func read(_ line: ArraySlice<UInt8>) -> (String, DownloadRecord)? {
        let fields = line.split(separator: UInt8(ascii: "\t"), omittingEmptySubsequences: false)
        guard fields.count >= 5, fields.last?.elementsEqual(".".utf8) == true,
            let name = String(validating: fields[fields.count - 2], as: UTF8.self), SafeFileName.isSafe(name)
        else { return nil }
        func text(_ index: Int) -> String { String(decoding: fields[index], as: UTF8.self) }
        guard let time = Int64(text(1)) else { return nil }
        var record = DownloadRecord(resource: text(2), time: time)
        switch (text(0), fields.count) {
        case ("begun", 5):
            record.isBegun = true
            return (name, record)
        case ("done", 11):
            guard let size = Int64(text(3)), let seconds = Int64(text(4)), let nanoseconds = Int(text(5)),
                let inode = UInt64(text(6))
            else { return nil }
            record.file = File(
                stamp: FileStamp(size: size, seconds: seconds, nanoseconds: nanoseconds, inode: inode),
                boot: text(7) == "-" ? nil : text(7), validator: validator(text(8)))
            return (name, record)
        default: return nil
        }
    }

    private static func validator(_ text: String) -> StoredValidator? {
        let parts = text.split(separator: " ", maxSplits: 1)
        guard parts.count == 2, let kind = StoredValidator.Kind(rawValue: String(parts[0])) else { return nil }
        switch kind {
        case .entityTag: return StoredValidator(.entityTag(String(parts[1])))
        case .lastModified: return StoredValidator(.lastModified(String(parts[1])))
        }
    }
}
