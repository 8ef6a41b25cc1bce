import SluiceFiles
import SluiceHTTP

#if canImport(FoundationEssentials)
package import FoundationEssentials
#else
package import Foundation
#endif

/// How often a checkpoint is renewed while bytes arrive: after this many bytes, or this time, whichever comes first.
struct CheckpointPolicy: Sendable {
    /// The limits for a checkpoint with a sync, which runs concurrently with the writes.
    var bytes: Int64 = 64 << 20
    var interval: Duration = .seconds(5)
    /// The limits for one without a sync, if the file is downloaded in segments. A killed process loses what arrived since then.
    var noteBytes: Int64 = 16 << 20
    var noteInterval: Duration = .milliseconds(250)
}

/// What is known about a partial file: where its bytes came from, the size of the whole file, and how many bytes can be trusted.
///
/// It is stored as JSON beside the partial file. It contains no secrets, and only a digest of the URL.
///
/// ```text
/// which bytes of the partial file count
/// ─────────────────────────────────────────────────────────────────────────────
/// not the file named here                  none: it was copied, or created again
/// same file, same boot                     all: one locked writer appended them in order, and the page cache
///                                          outlives a killed process
/// same file, different or unknown boot     `synced`: what was on the disk when the checkpoint was written
/// ```
///
/// A file that is downloaded in segments has its full length from the start, and the checkpoint lists what has been written
/// (``SegmentMap``). It has a version of its own, because older programs would trust the length.
package struct Checkpoint: Codable, Equatable {
    /// The versions of the format: without and with segments. Checkpoints of other versions are ignored.
    static let (currentVersion, segmentedVersion) = (1, 2)

    var version = Checkpoint.currentVersion
    /// The digest of the requested URL; see ``digest(of:)``.
    var url: String
    /// The validator of this state of the file on the server; `nil` if the transfer can't be resumed.
    var validator: StoredValidator?
    /// The length of the whole file, if the server sent it or all of it has arrived.
    package var total: Int64?
    /// The number of bytes that were synced to the disk when this checkpoint was written.
    var synced: Int64
    /// Whether the file is synced before it gets its final name.
    var isDurable: Bool
    /// The system boot during which this checkpoint was written.
    var boot: String?
    var file: FileIdentity
    /// See ``SegmentMap/stored``; `nil` for a file that is downloaded from its start to its end.
    var segments: [[Int64]]? {
        didSet { version = segments == nil ? Self.currentVersion : Self.segmentedVersion }
    }

    /// The segments that an earlier transfer has downloaded; `nil` if there are none, or they can't be trusted.
    func trustedSegments(file: FileIdentity, boot: String?) -> SegmentMap? {
        guard file == self.file, let segments, let total else { return nil }
        return SegmentMap(stored: segments, total: total, isSameBoot: boot != nil && boot == self.boot)
    }

    func trustedBytes(size: Int64, file: FileIdentity, boot: String?) -> Int64 {
        guard file == self.file, segments == nil else { return 0 }
        let trusted = boot != nil && boot == self.boot ? size : min(synced, size)
        // There are more bytes than the file can have, so another program has written to it.
        if let total, trusted > total { return 0 }
        return trusted
    }

    /// Whether the file under the final name is this checkpoint's partial file, completed.
    ///
    /// Only publishing gives it that name, after all bytes have arrived and, if `isDurable`, have been synced.
    func isPublished(as file: FileIdentity, size: Int64, boot: String?) -> Bool {
        file == self.file && total == size && (isDurable || (boot != nil && boot == self.boot))
    }
}

extension Checkpoint {
    /// Returns `nil` if another version wrote the checkpoint, or it is inconsistent.
    init?(_ data: Data) {
        guard let found = try? JSONDecoder().decode(Checkpoint.self, from: data),
            found.version == (found.segments == nil ? Self.currentVersion : Self.segmentedVersion),
            found.synced >= 0, found.total.map({ $0 >= 0 }) ?? true
        else { return nil }
        self = found
    }

    /// Reads a checkpoint, or returns `nil` if the file can't be read or isn't a checkpoint of this version. Another process may be writing it.
    package static func read(_ url: URL) async -> Checkpoint? {
        let maximumSize = CheckpointedFile.maximumCheckpointSize
        return (try? await Data(asyncContentsOf: url, maximumSize: maximumSize)).flatMap { Checkpoint($0) }
    }

    /// Whether a file is a checkpoint of any version, even one that a power loss left empty, truncated, or full of zeros. Any other file
    /// may be a user's.
    static func isCheckpoint(_ data: Data) -> Bool {
        struct AnyVersion: Decodable {
            var version: Int
            var synced: Int64
        }
        struct AnyJSON: Decodable {
            init(from decoder: any Decoder) {}
        }
        if (try? JSONDecoder().decode(AnyVersion.self, from: data)) != nil { return true }
        let rest = data[..<(data.lastIndex { $0 != 0 }.map { $0 + 1 } ?? data.startIndex)]
        // A user's file can begin the same way, but then it is complete.
        return beginnings.contains { rest.starts(with: $0) || $0.starts(with: rest) }
            && (try? JSONDecoder().decode(AnyJSON.self, from: rest)) == nil
    }

    /// The keys are sorted, and `boot` is left out if it is unknown.
    private static let beginnings = [#"{"boot":""#, #"{"file":{""#].map { Array($0.utf8) }

    var data: Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        guard let data = try? encoder.encode(self) else {
            preconditionFailure("A checkpoint of strings and integers can't be encoded as JSON.")
        }
        return data
    }

    /// Identifies a URL without disclosing it. The user and password, which depend on the requester, and the fragment, which isn't sent,
    /// are left out.
    static func digest(of url: URL) -> String {
        var text = url.absoluteString
        // Most URLs have nothing to leave out, and URLComponents takes several microseconds.
        if text.utf8.contains(where: { $0 == UInt8(ascii: "@") || $0 == UInt8(ascii: "#") }) {
            var parts = URLComponents(url: url, resolvingAgainstBaseURL: true)
            parts?.user = nil
            parts?.password = nil
            parts?.fragment = nil
            text = parts?.string ?? text
        }
        return SHA256Digest.of(Array(text.utf8)).hexadecimal
    }
}

struct StoredValidator: Codable, Hashable {
    enum Kind: String, Codable { case entityTag, lastModified }

    var kind: Kind
    var field: String

    init(_ validator: Validator) {
        switch validator {
        case .entityTag(let field): (kind, self.field) = (.entityTag, field)
        case .lastModified(let field): (kind, self.field) = (.lastModified, field)
        }
    }

    /// `nil` if the text can't be part of a header field. The checkpoint may have been edited.
    var validator: Validator? {
        guard field.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else { return nil }
        switch kind {
        case .entityTag: return field.hasPrefix("\"") ? .entityTag(field) : nil
        case .lastModified: return .lastModified(field)
        }
    }
}
