import NativeMark
import SluiceCache

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The image formats that a terminal decodes, and what the user can do with images in other formats.
///
/// Images aren't converted: a decoder is a large piece of code for untrusted input, and so is a program such as magick that `show` would
/// have to run.
struct ShownFormats: Sendable {
    private let formats: [ImageHeader.Format]

    init(_ images: TerminalRenderer.ImageProtocol) {
        formats = images == .kitty ? [.png] : [.png, .jpeg, .gif, .webP]
    }

    /// Returns one line that says why the image isn't shown; `nil` if the terminal decodes it.
    func refusal(of header: ImageHeader?, of source: ImageSource) -> String? {
        guard let format = header?.format else {
            return "\(source.name) isn't a \(names(joined: "or")) image. \(remedy(for: source))"
        }
        return formats.contains(format) ? nil : refusal(of: format.rawValue, source)
    }

    /// Returns one line if the image needn't be fetched, because its name says that the terminal doesn't decode it; otherwise `nil`.
    func refusal(of source: ImageSource) -> String? {
        guard case .remote(let url) = source, let format = Self.formats[url.pathExtension.lowercased()],
            !formats.contains(where: { $0.rawValue == format })
        else { return nil }
        return refusal(of: format, source)
    }

    private func refusal(of format: String, _ source: ImageSource) -> String {
        let article = ["AVIF", "SVG"].contains(format) ? "an" : "a"
        return "\(source.name) is \(article) \(format) image, but this terminal shows only \(names(joined: "and")). "
            + remedy(for: source)
    }

    /// A command is given only for names that need no quotes in a shell.
    private func remedy(for source: ImageSource) -> String {
        guard case .local(let file) = source else { return "Open it in a browser." }
        let name = file.lastPathComponent
        let isPlain = name.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-"):
                true
            default: false
            }
        }
        let stem = file.deletingPathExtension().lastPathComponent
        guard isPlain, !stem.hasPrefix("-"), name != stem + ".png" else {
            return "Convert it to PNG, or open it in another program."
        }
        return "Convert it with 'magick \(name) \(stem).png', or open it in another program."
    }

    /// `PNG, JPEG, GIF and WebP`.
    private func names(joined word: String) -> String {
        let names = formats.map(\.rawValue)
        return names.count == 1
            ? names[0] : "\(names.dropLast().joined(separator: ", ")) \(word) \(names[names.count - 1])"
    }

    /// The formats by their usual extensions. PNG is missing, because all terminals with images decode it.
    private static let formats = [
        "jpg": "JPEG", "jpeg": "JPEG", "jpe": "JPEG", "jfif": "JPEG", "gif": "GIF", "webp": "WebP", "avif": "AVIF",
        "bmp": "BMP", "svg": "SVG", "svgz": "SVG", "tif": "TIFF", "tiff": "TIFF", "heic": "HEIC", "pdf": "PDF",
    ]
}
