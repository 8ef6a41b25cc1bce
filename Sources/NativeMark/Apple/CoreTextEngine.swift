// Type-checked against stub modules by Scripts/checks/apple.py. No test runs this code.
#if canImport(CoreText)
import CoreText
import Foundation

#if canImport(UIKit)
import UIKit
#else
import AppKit
#endif

/// A text engine that shapes text with Core Text and the system's fonts.
///
///     let layout = TextLayout(StyledText(document), width: 320, engine: CoreTextEngine())
///
/// ``NativeMarkLabel`` and ``NativeMarkText`` use it. Colors from the asset catalog are those of the appearance that is current when a
/// paragraph is laid out. Words aren't hyphenated.
public struct CoreTextEngine: TextEngine {
    /// Creates an engine.
    public init() {}

    /// Breaks a paragraph into lines.
    public func lines(of paragraph: TextParagraph, width: Double, firstIndent: Double) -> [any TextEngineLine] {
        let text = CoreTextParagraph(paragraph)
        var lines: [CoreTextLine] = []
        var start = 0
        repeat {
            let room = lines.isEmpty ? width - firstIndent : width
            let range = text.rangeOfLine(from: start, width: room)
            start = range.upperBound
            let isStretched = paragraph.isJustified && start < text.length
            lines.append(CoreTextLine(text, range, stretchedTo: isStretched ? room : nil))
        } while start < text.length
        return lines
    }

    /// Returns the width of a paragraph in one line.
    public func width(of paragraph: TextParagraph) -> Double { widest(of: paragraph, \.isNewline) }

    /// Returns the width of the longest word.
    public func minimumWidth(of paragraph: TextParagraph) -> Double { widest(of: paragraph, \.isWhitespace) }

    private func widest(of paragraph: TextParagraph, _ isSeparator: (Character) -> Bool) -> Double {
        let text = CoreTextParagraph(paragraph)
        return text.ranges(separatedBy: isSeparator).map { CoreTextLine(text, $0, stretchedTo: nil).width }.max() ?? 0
    }

    /// Returns the height of the style's font above and below the baseline.
    public func metrics(of style: ResolvedTextStyle) -> (ascent: Double, descent: Double) {
        let font = NativeFont.native(style)
        return (Double(font.ascender), Double(-font.descender))
    }
}

// MARK: - A paragraph

/// A paragraph for Core Text, which counts in UTF-16. It never changes.
private final class CoreTextParagraph: @unchecked Sendable {
    // Core Text's objects may be used by several threads, and nothing here changes after the initializer.
    let paragraph: TextParagraph
    let typesetter: CTTypesetter
    let length: Int

    init(_ paragraph: TextParagraph) {
        self.paragraph = paragraph
        length = paragraph.text.utf16.count
        let string = NSMutableAttributedString(string: paragraph.text)
        for run in paragraph.runs where !run.range.isEmpty {
            let range = Self.utf16(run.range, in: paragraph.text)
            string.setAttributes(
                Self.attributes(of: run), range: NSRange(location: range.lowerBound, length: range.count))
        }
        var direction: CTWritingDirection = paragraph.isRightToLeft ? .rightToLeft : .leftToRight
        let style = withUnsafePointer(to: &direction) { direction in
            let setting = CTParagraphStyleSetting(
                spec: .baseWritingDirection, valueSize: MemoryLayout<CTWritingDirection>.size, value: direction)
            return CTParagraphStyleCreate([setting], 1)
        }
        string.addAttribute(
            NSAttributedString.Key(kCTParagraphStyleAttributeName as String), value: style,
            range: NSRange(location: 0, length: length))
        typesetter = CTTypesetterCreateWithAttributedString(string as CFAttributedString)
    }

    private static func attributes(of run: TextParagraph.Run) -> [NSAttributedString.Key: Any] {
        let style = run.style
        // UIKit's and AppKit's fonts are Core Text's.
        var attributes: [NSAttributedString.Key: Any] = [
            NSAttributedString.Key(kCTFontAttributeName as String): NativeFont.native(style)
        ]
        if style.color == .standard {
            attributes[NSAttributedString.Key(kCTForegroundColorFromContextAttributeName as String)] = true
        } else {
            attributes[NSAttributedString.Key(kCTForegroundColorAttributeName as String)] =
                NativeColor.native(style.color).cgColor
        }
        if style.kerning != 0 {
            attributes[NSAttributedString.Key(kCTKernAttributeName as String)] = style.kerning
        }
        if style.baseline != 0 {
            attributes[NSAttributedString.Key(kCTBaselineOffsetAttributeName as String)] = style.baseline
        }
        if let placeholder = run.placeholder, let delegate = PlaceholderSize(placeholder).runDelegate() {
            attributes[NSAttributedString.Key(kCTRunDelegateAttributeName as String)] = delegate
        }
        return attributes
    }

    /// Returns the part of the text that fits into a line.
    func rangeOfLine(from start: Int, width: Double) -> Range<Int> {
        let room = width.isFinite ? max(width, 1) : 1e7
        let count = CTTypesetterSuggestLineBreak(typesetter, start, room)
        return start..<min(start + max(count, 1), length)
    }

    /// Returns the pieces of the text between separators.
    func ranges(separatedBy isSeparator: (Character) -> Bool) -> [Range<Int>] {
        paragraph.text.split(whereSeparator: isSeparator).map {
            $0.startIndex.utf16Offset(in: paragraph.text)..<$0.endIndex.utf16Offset(in: paragraph.text)
        }
    }

    func utf8(_ offset: Int) -> Int {
        let text = paragraph.text
        return text.utf8.distance(from: text.startIndex, to: String.Index(utf16Offset: offset, in: text))
    }

    func utf16(_ range: Range<Int>) -> Range<Int> { Self.utf16(range, in: paragraph.text) }

    private static func utf16(_ range: Range<Int>, in text: String) -> Range<Int> {
        let start = text.utf8.index(text.startIndex, offsetBy: range.lowerBound)
        let end = text.utf8.index(start, offsetBy: range.count)
        return start.utf16Offset(in: text)..<end.utf16Offset(in: text)
    }
}

/// The size of a placeholder, for Core Text's callbacks.
private final class PlaceholderSize {
    private let placeholder: TextParagraph.Placeholder

    init(_ placeholder: TextParagraph.Placeholder) { self.placeholder = placeholder }

    /// Returns a delegate that keeps this object.
    func runDelegate() -> CTRunDelegate? {
        var callbacks = CTRunDelegateCallbacks(
            version: kCTRunDelegateVersion1,
            dealloc: { Unmanaged<PlaceholderSize>.fromOpaque($0).release() },
            getAscent: {
                CGFloat(Unmanaged<PlaceholderSize>.fromOpaque($0).takeUnretainedValue().placeholder.ascent ?? 0)
            },
            getDescent: { _ in 0 },
            getWidth: {
                CGFloat(Unmanaged<PlaceholderSize>.fromOpaque($0).takeUnretainedValue().placeholder.advance)
            })
        return CTRunDelegateCreate(&callbacks, Unmanaged.passRetained(self).toOpaque())
    }
}

// MARK: - A line

/// A line of Core Text.
struct CoreTextLine: TextEngineLine, @unchecked Sendable {
    // Core Text's objects may be used by several threads.
    let line: CTLine
    let range: Range<Int>
    let width: Double
    let ascent: Double
    let descent: Double
    private let text: CoreTextParagraph

    /// - Parameter range: In UTF-16 offsets.
    fileprivate init(_ text: CoreTextParagraph, _ range: Range<Int>, stretchedTo width: Double?) {
        let natural = CTTypesetterCreateLine(
            text.typesetter, CFRange(location: range.lowerBound, length: range.count))
        line = width.flatMap { CTLineCreateJustifiedLine(natural, 1, $0) } ?? natural
        var (ascent, descent, leading) = (CGFloat.zero, CGFloat.zero, CGFloat.zero)
        let full = CTLineGetTypographicBounds(line, &ascent, &descent, &leading)
        self.width = Double(full - CTLineGetTrailingWhitespaceWidth(line))
        if range.isEmpty, let style = text.paragraph.runs.first?.style {
            (self.ascent, self.descent) = CoreTextEngine().metrics(of: style)
        } else {
            (self.ascent, self.descent) = (Double(ascent), Double(descent))
        }
        self.range = text.utf8(range.lowerBound)..<text.utf8(range.upperBound)
        self.text = text
    }

    func spans(of range: Range<Int>) -> [Range<Double>] {
        let wanted = text.utf16(range.clamped(to: self.range))
        var spans: [Range<Double>] = []
        var left = 0.0
        // In the order of the screen.
        for run in CTLineGetGlyphRuns(line) as? [CTRun] ?? [] {
            let right = left + CTRunGetTypographicBounds(run, CFRange(location: 0, length: 0), nil, nil, nil)
            defer { left = right }
            let all = CTRunGetStringRange(run)
            let shown = wanted.clamped(to: all.location..<all.location + all.length)
            guard !shown.isEmpty else { continue }
            let isRightToLeft = CTRunGetStatus(run).contains(.rightToLeft)
            func edge(_ index: Int) -> Double {
                if index == all.location { return isRightToLeft ? right : left }
                if index == all.location + all.length { return isRightToLeft ? left : right }
                return Double(CTLineGetOffsetForStringIndex(line, index, nil))
            }
            let (one, other) = (edge(shown.lowerBound), edge(shown.upperBound))
            let span = min(one, other)..<max(one, other)
            if let last = spans.last, abs(last.upperBound - span.lowerBound) < 0.01 {
                spans[spans.count - 1] = last.lowerBound..<span.upperBound
            } else if !span.isEmpty {
                spans.append(span)
            }
        }
        return spans
    }

    func offset(at x: Double) -> Int {
        // Core Text returns the boundary that is nearest, which may be the one after the character.
        let boundary = text.utf8(max(CTLineGetStringIndexForPosition(line, CGPoint(x: x, y: 0)), 0))
        let offset = min(max(boundary, range.lowerBound), range.upperBound)
        let string = text.paragraph.text
        let index = string.utf8.index(string.startIndex, offsetBy: offset)
        guard offset > range.lowerBound else { return offset }
        let previous = string.utf8.distance(from: string.startIndex, to: string.index(before: index))
        return spans(of: previous..<offset).contains { $0.contains(x) } ? max(previous, range.lowerBound) : offset
    }

    /// The lines under and through the text.
    func decorations(at origin: LayoutPoint) -> [VectorShape] {
        text.paragraph.runs.overlapping(range, by: \.range).flatMap { run -> [VectorShape] in
            guard run.style.isUnderlined || run.style.isStruckThrough else { return [] }
            return spans(of: run.range.clamped(to: range)).flatMap { span in
                run.style.decorations(
                    from: .init(x: origin.x + span.lowerBound, y: origin.y), width: span.upperBound - span.lowerBound)
            }
        }
    }
}
#endif
