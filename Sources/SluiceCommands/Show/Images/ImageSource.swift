import SluiceHTTP

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The address of an image in a document. The document isn't trusted.
///
///     ImageSource("img/a%20b.png", besides: "notes/readme.md")   // .local: notes/img/a b.png
enum ImageSource: Sendable, Hashable {
    /// `?…` and `#…` are dropped. The path is absolute or relative to the document's directory.
    case local(URL)
    case remote(URL)
    /// A message that says why the address is unusable.
    case refused(String)

    var isRemote: Bool { if case .remote = self { true } else { false } }

    /// For messages, without the secrets of a URL.
    var name: String {
        switch self {
        case .local(let file): "'\(file.path(percentEncoded: false))'"
        case .remote(let url): url.redactedForDisplay
        case .refused(let why): why
        }
    }

    /// `document` is the path of the document; `-` means a document in the working directory.
    init(_ source: String, besides document: String) {
        let scheme = source.prefix { $0 != ":" && $0 != "/" && $0 != "?" && $0 != "#" }
        if source.dropFirst(scheme.count).first == ":" {
            do {
                self = .remote(try URL(fetchable: source))
            } catch {
                self = .refused("\(error)")
            }
            return
        }
        if source.hasPrefix("//") {
            self = .refused("'\(source)' has no scheme. Write https: before it.")
            return
        }
        let encoded = source.prefix { $0 != "?" && $0 != "#" }
        guard !encoded.isEmpty else {
            self = .refused("An image has no address. Write the path of a file.")
            return
        }
        guard let bytes = encoded.percentDecodedBytes, !bytes.contains(0),
            let path = String(validating: bytes, as: UTF8.self)
        else {
            self = .refused("'\(source)' isn't a path. Percent-encode a path in UTF-8 that has no zero byte.")
            return
        }
        // The path always has a slash, so that a name that begins with ~ isn't taken for a home directory.
        let directory = document.lastIndex(of: "/").map { document[...$0] } ?? "./"
        self = .local(URL(filePath: path.hasPrefix("/") ? path : directory + path, directoryHint: .notDirectory))
    }
}
