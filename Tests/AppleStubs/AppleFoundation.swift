// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation
// What Apple's Foundation has in addition to Linux's. See README.md.
@_exported public import Darwin
@_exported public import FoundationEssentials
@_exported public import FoundationInternationalization
// Import each type separately, because the whole module exports the local C library.
@_exported public import class Foundation.Bundle
@_exported public import struct Foundation.CGFloat
@_exported public import struct Foundation.CGPoint
@_exported public import struct Foundation.CGRect
@_exported public import struct Foundation.CGSize
@_exported public import class Foundation.FileHandle
@_exported public import class Foundation.JSONSerialization
@_exported public import class Foundation.NSAttributedString
@_exported public import class Foundation.NSCache
@_exported public import class Foundation.NSCoder
@_exported public import class Foundation.NSCondition
@_exported public import class Foundation.NSLock
@_exported public import class Foundation.NSMutableAttributedString
@_exported public import class Foundation.NSMutableData
@_exported public import class Foundation.NSNull
@_exported public import class Foundation.NSNumber
@_exported public import class Foundation.NSObject
@_exported public import protocol Foundation.NSObjectProtocol
@_exported public import struct Foundation.NSRange
@_exported public import typealias Foundation.NSRect
@_exported public import typealias Foundation.NSSize
@_exported public import class Foundation.NSString
@_exported public import class Foundation.Thread
@_exported public import struct Foundation.URLError
@_exported public import class FoundationNetworking.HTTPURLResponse
@_exported public import class FoundationNetworking.URLAuthenticationChallenge
@_exported public import class FoundationNetworking.URLCredential
@_exported public import class FoundationNetworking.URLResponse
@_exported public import struct FoundationNetworking.URLRequest
@_exported public import class FoundationNetworking.URLSession
@_exported public import class FoundationNetworking.URLSessionConfiguration
@_exported public import protocol FoundationNetworking.URLSessionDataDelegate
@_exported public import class FoundationNetworking.URLSessionDataTask
@_exported public import class FoundationNetworking.URLSessionTask
@_exported public import let FoundationNetworking.NSURLAuthenticationMethodHTTPBasic
@_exported public import let FoundationNetworking.NSURLAuthenticationMethodHTTPDigest
#if os(macOS)
@_exported public import class Foundation.Pipe
@_exported public import class Foundation.Process
#endif

@available(macOS 12.0, iOS 15.0, tvOS 15.0, watchOS 8.0, *)
public struct PresentationIntent: Hashable, Sendable {
    public enum Kind: Hashable, Sendable {
        case paragraph
        case header(level: Int)
        case orderedList
        case unorderedList
        case listItem(ordinal: Int)
        case codeBlock(languageHint: String?)
        case blockQuote
        case thematicBreak
        case table(columns: [TableColumn])
        case tableHeaderRow
        case tableRow(rowIndex: Int)
        case tableCell(columnIndex: Int)
    }

    public struct TableColumn: Hashable, Sendable {
        public enum Alignment: Int, Hashable, Sendable {
            case left, center, right
        }

        public init(alignment: Alignment) {}
    }

    public init(_ kind: Kind, identity: Int, parent: PresentationIntent? = nil) {}
}

@available(macOS 12.0, iOS 15.0, tvOS 15.0, watchOS 8.0, *)
public struct InlinePresentationIntent: OptionSet, Hashable, Sendable {
    public var rawValue: UInt

    public init(rawValue: UInt) { self.rawValue = rawValue }

    public static let emphasized = InlinePresentationIntent(rawValue: 1 << 0)
    public static let stronglyEmphasized = InlinePresentationIntent(rawValue: 1 << 1)
    public static let code = InlinePresentationIntent(rawValue: 1 << 2)
    public static let strikethrough = InlinePresentationIntent(rawValue: 1 << 5)
    public static let softBreak = InlinePresentationIntent(rawValue: 1 << 6)
    public static let lineBreak = InlinePresentationIntent(rawValue: 1 << 7)
}

@available(macOS 12.0, iOS 15.0, tvOS 15.0, watchOS 8.0, *)
extension AttributeScopes.FoundationAttributes {
    public enum PresentationIntentAttribute: AttributedStringKey {
        public typealias Value = PresentationIntent
        public static var name: String { "NSPresentationIntent" }
    }

    public enum InlinePresentationIntentAttribute: AttributedStringKey {
        public typealias Value = InlinePresentationIntent
        public static var name: String { "NSInlinePresentationIntent" }
    }
}

@available(macOS 12.0, iOS 15.0, tvOS 15.0, watchOS 8.0, *)
extension String {
    public struct LocalizationValue: Equatable, Sendable, ExpressibleByStringInterpolation {
        public init(_ value: String) {}
        public init(stringLiteral value: String) {}
    }

    public init(
        localized keyAndValue: String.LocalizationValue, table: String? = nil, bundle: Bundle? = nil,
        locale: Locale = .current, comment: StaticString? = nil
    ) { fatalError() }

    @available(macOS 13.0, iOS 16.0, tvOS 16.0, watchOS 9.0, *)
    public init(localized resource: LocalizedStringResource) { fatalError() }
}

@available(macOS 13.0, iOS 16.0, tvOS 16.0, watchOS 9.0, *)
public struct LocalizedStringResource: Equatable, Sendable, ExpressibleByStringInterpolation {
    public init(stringLiteral value: String) { fatalError() }
}

@available(macOS 13.0, iOS 16.0, tvOS 16.0, watchOS 9.0, *)
extension URL {
    public static var applicationSupportDirectory: URL { fatalError() }
    public static var cachesDirectory: URL { fatalError() }
    public static var documentsDirectory: URL { fatalError() }
}
