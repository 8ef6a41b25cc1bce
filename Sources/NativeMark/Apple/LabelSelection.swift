// Type-checked against stub modules by Scripts/checks/apple.py. No test runs this code.
#if os(iOS) || os(visionOS)
import Foundation
import UIKit

/// Lets readers select and copy the text of a label: a transparent view above it, which UIKit asks where the text is.
///
/// Offsets are those of ``StyledText/string`` in UTF-8, always between characters.
final class LabelSelection: UIView, UITextInput {
    /// The text and the layout of the label.
    var shown: () -> (text: StyledText, layout: TextLayout)?
    private var selected: Range<Int>?
    weak var inputDelegate: (any UITextInputDelegate)?
    lazy var tokenizer: any UITextInputTokenizer = UITextInputStringTokenizer(textInput: self)

    init(shown: @escaping () -> (text: StyledText, layout: TextLayout)?) {
        self.shown = shown
        super.init(frame: .zero)
        backgroundColor = nil
        let interaction = UITextInteraction(for: .nonEditable)
        interaction.textInput = self
        addInteraction(interaction)
    }

    required init?(coder: NSCoder) { nil }

    /// Removes the selection, because the text has changed.
    func clear() {
        guard selected != nil else { return }
        inputDelegate?.selectionWillChange(self)
        selected = nil
        inputDelegate?.selectionDidChange(self)
    }

    override var canBecomeFirstResponder: Bool { true }

    override func copy(_ sender: Any?) {
        guard let selected, let shown = shown() else { return }
        UIPasteboard.general.string = String(shown.text.substring(selected))
    }

    // MARK: Positions

    private final class Position: UITextPosition {
        let offset: Int
        init(_ offset: Int) { self.offset = offset }
    }

    private final class Span: UITextRange {
        let offsets: Range<Int>
        init(_ offsets: Range<Int>) { self.offsets = offsets }
        override var start: UITextPosition { Position(offsets.lowerBound) }
        override var end: UITextPosition { Position(offsets.upperBound) }
        override var isEmpty: Bool { offsets.isEmpty }
    }

    private final class Box: UITextSelectionRect {
        private let box: CGRect
        private let ends: (first: Bool, last: Bool)
        init(_ box: CGRect, isFirst: Bool, isLast: Bool) { (self.box, ends) = (box, (isFirst, isLast)) }
        override var rect: CGRect { box }
        override var writingDirection: NSWritingDirection { .natural }
        override var containsStart: Bool { ends.first }
        override var containsEnd: Bool { ends.last }
        override var isVertical: Bool { false }
    }

    private var string: String { shown()?.text.string ?? "" }

    private func offset(of position: UITextPosition) -> Int {
        min((position as? Position)?.offset ?? 0, string.utf8.count)
    }

    private func offsets(of range: UITextRange) -> Range<Int> {
        let (start, end) = (offset(of: range.start), offset(of: range.end))
        return min(start, end)..<max(start, end)
    }

    private func index(_ offset: Int, in string: String) -> String.Index {
        string.utf8.index(string.startIndex, offsetBy: offset)
    }

    var beginningOfDocument: UITextPosition { Position(0) }
    var endOfDocument: UITextPosition { Position(string.utf8.count) }

    func textRange(from start: UITextPosition, to end: UITextPosition) -> UITextRange? {
        let (start, end) = (offset(of: start), offset(of: end))
        return Span(min(start, end)..<max(start, end))
    }

    func position(from position: UITextPosition, offset: Int) -> UITextPosition? {
        let string = string
        let limit = offset < 0 ? string.startIndex : string.endIndex
        let start = index(self.offset(of: position), in: string)
        return string.index(start, offsetBy: offset, limitedBy: limit).map {
            Position(string.utf8.distance(from: string.startIndex, to: $0))
        }
    }

    func position(
        from position: UITextPosition, in direction: UITextLayoutDirection, offset: Int
    ) -> UITextPosition? {
        switch direction {
        case .left: return self.position(from: position, offset: -offset)
        case .right: return self.position(from: position, offset: offset)
        default:
            let caret = caretRect(for: position)
            let distance = caret.height * CGFloat(direction == .up ? -offset : offset)
            return closestPosition(to: CGPoint(x: caret.midX, y: caret.midY + distance))
        }
    }

    func compare(_ position: UITextPosition, to other: UITextPosition) -> ComparisonResult {
        let (one, two) = (offset(of: position), offset(of: other))
        return one < two ? .orderedAscending : one > two ? .orderedDescending : .orderedSame
    }

    func offset(from start: UITextPosition, to end: UITextPosition) -> Int {
        let string = string
        return string.distance(from: index(offset(of: start), in: string), to: index(offset(of: end), in: string))
    }

    func position(within range: UITextRange, farthestIn direction: UITextLayoutDirection) -> UITextPosition? {
        direction == .left || direction == .up ? range.start : range.end
    }

    func characterRange(
        byExtending position: UITextPosition, in direction: UITextLayoutDirection
    ) -> UITextRange? {
        let other = self.position(from: position, in: direction, offset: 1) ?? position
        return textRange(from: position, to: other)
    }

    // MARK: Text

    func text(in range: UITextRange) -> String? { (shown()?.text.substring(offsets(of: range))).map { String($0) } }

    var selectedTextRange: UITextRange? {
        get { selected.map { Span($0) } }
        set { selected = newValue.map { offsets(of: $0) } }
    }

    var hasText: Bool { !string.isEmpty }
    var markedTextRange: UITextRange? { nil }
    var markedTextStyle: [NSAttributedString.Key: Any]?

    // The text can't be edited.
    func replace(_ range: UITextRange, withText text: String) {}
    func setMarkedText(_ markedText: String?, selectedRange: NSRange) {}
    func unmarkText() {}
    func insertText(_ text: String) {}
    func deleteBackward() {}
    func setBaseWritingDirection(_ writingDirection: NSWritingDirection, for range: UITextRange) {}

    func baseWritingDirection(
        for position: UITextPosition, in direction: UITextStorageDirection
    ) -> NSWritingDirection { .natural }

    // MARK: Places

    private func boxes(of range: UITextRange) -> [CGRect] {
        (shown()?.layout.rectangles(of: offsets(of: range)) ?? []).map { CGRect($0) }
    }

    func firstRect(for range: UITextRange) -> CGRect { boxes(of: range).first ?? caretRect(for: range.start) }

    func caretRect(for position: UITextPosition) -> CGRect {
        let next = self.position(from: position, offset: 1)
        if let next, let box = boxes(of: Span(offset(of: position)..<offset(of: next))).first {
            return CGRect(x: box.minX, y: box.minY, width: 2, height: box.height)
        }
        guard let previous = self.position(from: position, offset: -1),
            let box = boxes(of: Span(offset(of: previous)..<offset(of: position))).last
        else { return .zero }
        return CGRect(x: box.maxX, y: box.minY, width: 2, height: box.height)
    }

    func selectionRects(for range: UITextRange) -> [UITextSelectionRect] {
        let boxes = boxes(of: range)
        return boxes.indices.map { Box(boxes[$0], isFirst: $0 == 0, isLast: $0 == boxes.count - 1) }
    }

    func closestPosition(to point: CGPoint) -> UITextPosition? {
        guard let range = characterRange(at: point), let box = boxes(of: range).first else { return nil }
        return point.x > box.midX ? range.end : range.start
    }

    func closestPosition(to point: CGPoint, within range: UITextRange) -> UITextPosition? {
        guard let closest = closestPosition(to: point) else { return range.start }
        let offsets = offsets(of: range)
        return Position(min(max(offset(of: closest), offsets.lowerBound), offsets.upperBound))
    }

    func characterRange(at point: CGPoint) -> UITextRange? {
        guard let layout = shown()?.layout,
            let offset = layout.characterIndex(at: .init(x: Double(point.x), y: Double(point.y)))
        else { return nil }
        return Span(layout.characters(from: offset, to: offset))
    }
}
#endif
