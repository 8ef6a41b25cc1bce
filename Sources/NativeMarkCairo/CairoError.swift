#if Cairo
#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// Why a document couldn't be drawn, and what to do.
public struct CairoError: Error, Sendable, Hashable, CustomStringConvertible, LocalizedError {
    /// The kind of problem.
    ///
    /// Later versions may add codes, so a `switch` needs a `default`.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        /// The name of the static member.
        public let description: String

        /// A font file can't be used.
        public static let fonts = Self(description: "fonts")
        /// The picture is larger than Cairo's limit.
        public static let size = Self(description: "size")
        /// The page doesn't exist, or margins leave no room on it.
        public static let page = Self(description: "page")
        /// An image can't be decoded.
        public static let image = Self(description: "image")
        /// Cairo failed, such as for lack of memory.
        public static let drawing = Self(description: "drawing")
    }

    /// The kind of problem.
    public var code: Code
    /// What is wrong, and what to do.
    public var description: String

    /// The same text as ``description``.
    public var errorDescription: String? { description }

    static func fonts(_ text: String) -> Self { Self(code: .fonts, description: text) }
    static func size(_ text: String) -> Self { Self(code: .size, description: text) }
    static func page(_ text: String) -> Self { Self(code: .page, description: text) }
    static func image(_ text: String) -> Self { Self(code: .image, description: text) }
    static func drawing(_ text: String) -> Self { Self(code: .drawing, description: text) }
}
#endif
