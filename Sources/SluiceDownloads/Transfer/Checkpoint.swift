#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif
import SluiceFiles
import SluiceHTTP

/// What is known of a partial file: from where its bytes are, how many there will be, and how many survive what.
///
/// It lies beside the partial file as JSON. It holds no secret: of the URL only a digest, without user and password.
///
/// ```text
/// which bytes of the partial file count
/// ─────────────────────────────────────────────────────────────────────────────
/// another file than the one named here     none: it was copied, or created again
/// same file, same boot                     all: one locked writer appended them in order, and the page cache
///                                          outlives a killed process
/// same file, another boot or unknown       `synced`: what was on the disk when the checkpoint was written
/// ```
struct Checkpoint: Codable, Equatable {
    /// Another version's checkpoint is nothing to this one.
    static let currentVersion = 1

    var version = Checkpoint.currentVersion
    /// The digest of the URL that was asked for, see ``digest(of:)``.
    var url: String
    /// What tells this state of the file on the server from others; nil where nothing can be resumed.
    var validator: StoredValidator?
    /// The length of the whole file, if the server said it, or once all of it is there.
    var total: Int64?
    /// How many bytes were on the disk, synced, when this was written.
    var synced: Int64
    /// Whether the file is synced before it gets its final name.
    var isDurable: Bool
    /// The run of the system in which it was written.
    var boot: String?
    /// The partial file.
    var file: FileIdentity

    /// How many bytes at the start of a file are those that this checkpoint vouches for.
    func trustedBytes(size: Int64, file: FileIdentity, boot: String?) -> Int64 {
        guard file == self.file else { return 0 }
        let trusted = boot != nil && boot == self.boot ? size : min(synced, size)
        // More than there can be: whoever wrote there was not this program.
        if let total, trusted > total { return 0 }
        return trusted
    }

    /// Whether the file under a final name is the partial one that this checkpoint is about, whole.
    ///
    /// Only publishing gives it that name, after all bytes were there and, if `isDurable`, on the disk.
    func isPublished(as file: FileIdentity, size: Int64, boot: String?) -> Bool {
        file == self.file && total == size && (isDurable || (boot != nil && boot == self.boot))
    }
}

extension Checkpoint {
    /// Reads what is in the file; nil for what this version did not write, or contradicts itself.
    init?(_ data: Data) {
        guard let found = try? JSONDecoder().decode(Checkpoint.self, from: data),
            found.version == Self.currentVersion, found.synced >= 0, found.total.map({ $0 >= 0 }) ?? true
        else { return nil }
        self = found
    }

    /// What is put into the file.
    var data: Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        guard let data = try? encoder.encode(self) else {
            preconditionFailure("a checkpoint is strings and integers, which JSON can hold")
        }
        return data
    }

    /// A digest that tells URLs apart and gives none away. User, password and fragment do not count: the first two say who
    /// asks, the last is not sent.
    static func digest(of url: URL) -> String {
        var parts = URLComponents(url: url, resolvingAgainstBaseURL: true)
        parts?.user = nil
        parts?.password = nil
        parts?.fragment = nil
        let text = parts?.string ?? url.absoluteString
        return SHA256Digest.of(Array(text.utf8)).hexadecimal
    }
}

/// A validator as a checkpoint holds it.
struct StoredValidator: Codable, Equatable {
    enum Kind: String, Codable { case entityTag, lastModified }

    var kind: Kind
    var field: String

    init(_ validator: Validator) {
        switch validator {
        case .entityTag(let field): (kind, self.field) = (.entityTag, field)
        case .lastModified(let field): (kind, self.field) = (.lastModified, field)
        }
    }

    /// Nil for what must not go into a header field: the file may have been edited.
    var validator: Validator? {
        guard field.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else { return nil }
        switch kind {
        case .entityTag: return field.hasPrefix("\"") ? .entityTag(field) : nil
        case .lastModified: return .lastModified(field)
        }
    }
}
