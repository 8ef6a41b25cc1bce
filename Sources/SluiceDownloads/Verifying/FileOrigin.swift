import SluiceFiles
import SluiceHTTP

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// What a file's extended attributes say about where it came from. Both values are texts, which other programs can read.
///
/// A program that replaces the file loses them; one that writes to the file keeps them, so the checksum is then wrong.
struct FileOrigin: Sendable, Equatable {
    /// See https://www.freedesktop.org/wiki/CommonExtendedAttributes/.
    static let urlAttribute = "user.xdg.origin.url"
    static let checksumAttribute = "user.sluice.digest"

    var url: URL?
    var checksum: Checksum?

    /// The values by the names of the attributes. The URL has no secrets.
    var attributes: [String: Data] {
        var attributes: [String: Data] = [:]
        if let checksum { attributes[Self.checksumAttribute] = Data(checksum.description.utf8) }
        if let text = url?.textWithoutSecrets { attributes[Self.urlAttribute] = Data(text.utf8) }
        return attributes
    }

    /// Stores the attributes, as far as the file system can.
    func store(in file: URL, using files: FileIO) async {
        // The checksum is more important if there isn't room for both.
        for (name, value) in attributes.sorted(by: { $0.key < $1.key }) {
            try? await files.setExtendedAttribute(name, of: file, to: value, followsLinks: false)
        }
    }

    /// Returns the checksum that is stored with a file. Returns `nil` if there is none, or if the value isn't a checksum.
    static func checksum(of file: URL, using files: FileIO) async throws -> Checksum? {
        do {
            guard let value = try await files.extendedAttribute(checksumAttribute, of: file) else { return nil }
            return String(validating: value, as: UTF8.self).flatMap { Checksum($0) }
        } catch let error as FileError where error.code == .unsupported {
            return nil
        }
    }
}
