// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation
// What Foundation has on Apple's platforms beyond that of Linux: see README.md.
@_exported public import Foundation

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

extension String {
    public struct LocalizationValue: Equatable, Sendable, ExpressibleByStringInterpolation {
        public init(_ value: String) {}
        public init(stringLiteral value: String) {}
    }

    public init(
        localized keyAndValue: String.LocalizationValue, table: String? = nil, bundle: Bundle? = nil,
        locale: Locale = .current, comment: StaticString? = nil
    ) { fatalError() }

    public init(localized resource: LocalizedStringResource) { fatalError() }
}

public struct LocalizedStringResource: Equatable, Sendable, ExpressibleByStringInterpolation {
    public init(stringLiteral value: String) { fatalError() }
}
