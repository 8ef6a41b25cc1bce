// Type-checked against stub modules by Scripts/checks/apple.py. No test runs this code.
#if canImport(Darwin)
public import Foundation

#if canImport(SwiftUI)
import SwiftUI
#endif
#if canImport(UIKit)
import UIKit
#elseif canImport(AppKit)
import AppKit
#endif

extension AttributeContainer {
    mutating func addNative(_ run: StyledText.Run, in text: StyledText, intents: inout [Int: PresentationIntent]) {
        typealias Keys = AttributeScopes.FoundationAttributes
        self[Keys.PresentationIntentAttribute.self] = PresentationIntent(ofBlock: run.block, in: text, known: &intents)
        let intent = InlinePresentationIntent(text.traits(of: run))
        if !intent.isEmpty { self[Keys.InlinePresentationIntentAttribute.self] = intent }
        if let link = run.link { self[Keys.LinkAttribute.self] = text.links[link].url() }
        #if canImport(SwiftUI)
        addSwiftUI(run.style)
        #endif
    }
}

extension InlinePresentationIntent {
    fileprivate init(_ traits: StyledText.Traits) {
        self = []
        if traits.contains(.emphasis) { insert(.emphasized) }
        if traits.contains(.strong) { insert(.stronglyEmphasized) }
        if traits.contains(.code) { insert(.code) }
        if traits.contains(.strikethrough) { insert(.strikethrough) }
        if traits.contains(.lineBreak) { insert(.lineBreak) }
    }
}

// MARK: - Presentation intents

extension PresentationIntent {
    /// Creates the presentation intent for the blocks of a path. Returns `nil` if none of them has an intent.
    ///
    /// Footnotes become items of an ordered list. A block's identity is its index in ``StyledText/blocks``.
    public init?(_ path: StyledText.Path, in text: StyledText) {
        var known: [Int: PresentationIntent] = [:]
        self.init(ofBlock: path.number, in: text, known: &known)
    }

    /// `known` caches intents by the indices of their blocks. Without it, each cell of a table would copy the table's kind, which describes
    /// all columns.
    init?(ofBlock block: Int, in text: StyledText, known: inout [Int: PresentationIntent]) {
        var intent: PresentationIntent?
        var numbers: [Int] = []
        var next: Int? = block
        while intent == nil, let number = next {
            intent = known[number]
            if intent == nil { numbers.append(number) }
            next = text.blocks[number].parent
        }
        for number in numbers.reversed() {
            guard let kind = Kind(text.blocks[number].kind) else { continue }
            intent = PresentationIntent(kind, identity: number, parent: intent)
            known[number] = intent
        }
        guard let intent else { return nil }
        self = intent
    }
}

extension PresentationIntent.Kind {
    fileprivate init?(_ kind: StyledText.Kind) {
        switch kind {
        case .document: return nil
        case .paragraph: self = .paragraph
        case .heading(let level): self = .header(level: level)
        case .blockQuote: self = .blockQuote
        case .codeBlock(let language): self = .codeBlock(languageHint: language)
        case .list(let list): self = list.isOrdered ? .orderedList : .unorderedList
        case .item(let item): self = .listItem(ordinal: item.number ?? 1)
        case .thematicBreak: self = .thematicBreak
        case .table(let alignments):
            self = .table(
                columns: alignments.map {
                    switch $0 {
                    case .none, .leading: .init(alignment: .left)
                    case .center: .init(alignment: .center)
                    case .trailing: .init(alignment: .right)
                    }
                })
        case .tableRow(let row): self = row == 0 ? .tableHeaderRow : .tableRow(rowIndex: row)
        case .tableCell(_, let column, _): self = .tableCell(columnIndex: column)
        case .footnotes: self = .orderedList
        case .footnote(_, let number): self = .listItem(ordinal: number)
        }
    }
}

// MARK: - SwiftUI

#if canImport(SwiftUI)
extension AttributeContainer {
    mutating func addSwiftUI(_ style: ResolvedTextStyle) {
        typealias Keys = AttributeScopes.SwiftUIAttributes
        self[Keys.FontAttribute.self] = Font(style)
        if let color = Color(style.color) { self[Keys.ForegroundColorAttribute.self] = color }
        if let color = style.background.flatMap({ Color($0) }) { self[Keys.BackgroundColorAttribute.self] = color }
        if style.kerning != 0 { self[Keys.KerningAttribute.self] = CGFloat(style.kerning) }
        if style.baseline != 0 { self[Keys.BaselineOffsetAttribute.self] = CGFloat(style.baseline) }
        if let line = style.underline { self[Keys.UnderlineStyleAttribute.self] = Text.LineStyle(line) }
        if let line = style.strikethrough { self[Keys.StrikethroughStyleAttribute.self] = Text.LineStyle(line) }
    }
}

extension Text.LineStyle {
    /// SwiftUI has neither thick, double nor wavy lines, and shows single ones.
    fileprivate init(_ line: ResolvedTextStyle.Line) {
        let pattern: Pattern =
            switch line.pattern {
            case .single, .thick, .double, .wavy: .solid
            case .dotted: .dot
            case .dashed: .dash
            }
        self.init(pattern: pattern, color: line.color.flatMap { Color($0) })
    }
}

extension Font {
    /// The size of the style already includes the size category.
    init(_ style: ResolvedTextStyle) {
        let font =
            if let family = style.fontFamily, Self.hasFont(ofFamily: family, style) {
                Font.custom(family, fixedSize: style.fontSize).weight(Weight(style.fontWeight))
            } else {
                Font.system(
                    size: style.fontSize, weight: Weight(style.fontWeight), design: Design(style.fontDesign))
            }
        let wide = style.fontWidth == .standard ? font : font.width(Width(style.fontWidth))
        self = style.isItalic ? wide.italic() : wide
    }

    /// Whether there is a font of the family. Without one, `custom` returns the system font in its default design.
    private static func hasFont(ofFamily family: String, _ style: ResolvedTextStyle) -> Bool {
        #if os(watchOS)
        true
        #else
        NativeFont.native(family: family, style) != nil
        #endif
    }
}

extension Font.Weight {
    fileprivate init(_ weight: StyleSheet.FontWeight) {
        switch weight {
        case .ultraLight: self = .ultraLight
        case .thin: self = .thin
        case .light: self = .light
        case .regular: self = .regular
        case .medium: self = .medium
        case .semibold: self = .semibold
        case .bold: self = .bold
        case .heavy: self = .heavy
        case .black: self = .black
        }
    }
}

extension Font.Design {
    fileprivate init(_ design: StyleSheet.FontDesign) {
        switch design {
        case .default: self = .default
        case .serif: self = .serif
        case .rounded: self = .rounded
        case .monospaced: self = .monospaced
        }
    }
}

extension Font.Width {
    fileprivate init(_ width: StyleSheet.FontWidth) {
        switch width {
        case .compressed: self = .compressed
        case .condensed: self = .condensed
        case .standard: self = .standard
        case .expanded: self = .expanded
        }
    }
}

extension Color {
    /// Returns `nil` for the standard text color.
    nonisolated init?(_ tone: StyleSheet.Tone) {
        if case .named(let name, _) = tone, Self.isInCatalog(name) {
            self.init(name)
            return
        }
        if case .displayP3(let red, let green, let blue, let alpha) = tone.withoutName {
            self.init(
                .displayP3, red: DisplayP3.clamped(red), green: DisplayP3.clamped(green),
                blue: DisplayP3.clamped(blue), opacity: DisplayP3.clamped(alpha))
        } else if let srgb = tone.srgb {
            self.init(.sRGB, red: srgb.red, green: srgb.green, blue: srgb.blue, opacity: srgb.alpha)
        } else {
            return nil
        }
    }

    /// SwiftUI shows an unknown name as a clear color and doesn't report an error.
    private nonisolated static func isInCatalog(_ name: String) -> Bool {
        #if canImport(UIKit)
        UIColor(named: name) != nil
        #elseif canImport(AppKit)
        NSColor(named: name) != nil
        #endif
    }
}
#endif
#endif
