import SluiceHTTP

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Where a document says that a picture is, which is not to be trusted.
///
///     PictureSource("img/a%20b.png", besides: "notes/readme.md")   // .local: notes/img/a b.png
enum PictureSource: Sendable, Hashable {
    /// A file: a relative path, from the folder of the document, or an absolute one. `?…` and `#…` are dropped.
    case local(URL)
    /// An address with `http` or `https`.
    case remote(URL)
    /// Neither; why not.
    case refused(String)

    var isRemote: Bool { if case .remote = self { true } else { false } }

    /// What messages call it: without what may be secret in an address.
    var name: String {
        switch self {
        case .local(let file): "'\(file.path(percentEncoded: false))'"
        case .remote(let url): url.redactedForDisplay
        case .refused(let why): why
        }
    }

    /// - Parameter document: The name of the document's file; `-` stands in the working directory.
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
            self = .refused("\"\(source)\" has no scheme; write https: in front of it")
            return
        }
        let encoded = source.prefix { $0 != "?" && $0 != "#" }
        guard !encoded.isEmpty else {
            self = .refused("a picture has no address; write the path of a file")
            return
        }
        guard let bytes = encoded.percentDecodedBytes, !bytes.contains(0),
            let path = String(validating: bytes, as: UTF8.self)
        else {
            self = .refused("\"\(source)\" is no path; percent-encode UTF-8 only")
            return
        }
        // With a slash in it in any case: a name that begins with ~ is not somebody's home.
        let folder = document.lastIndex(of: "/").map { document[...$0] } ?? "./"
        self = .local(URL(filePath: path.hasPrefix("/") ? path : folder + path, directoryHint: .notDirectory))
    }
}
