// Type-checked against stub modules by Scripts/checks/apple.py; run by no test of ours.
#if canImport(AppKit) && !canImport(UIKit)
public import AppKit
public import Foundation

/// A document in AppKit: as high as its text, with links that open, and text that can be selected.
///
///     let label = NativeMarkLabel(Document("Hello *world*"))
///     stack.addArrangedSubview(label)
///
/// The text is made again when the document, the sheet or the appearance changes; macOS has no size categories. Links open as
/// those of every text view do: by the system, or by the delegate of ``textView``.
public final class NativeMarkLabel: NSView {
    /// What is shown.
    public var document = Document("") { didSet { show() } }
    /// How.
    public var styleSheet = StyleSheet.default { didSet { show() } }
    /// What links may open, see ``StyledText/Link/url(schemes:)``.
    public var linkSchemes = StyledText.Link.openSchemes { didSet { show() } }
    /// Gives images that are there already. Set it again when more have come.
    public var image: (StyledText.Image) -> NSImage? = { _ in nil } { didSet { show() } }

    /// The view that shows the text.
    public let textView = NSTextView(frame: .zero)

    /// The text of the document. Setting it parses it.
    public var markdown: String {
        get { document.source }
        set { document = Document(newValue) }
    }

    /// A label with a document.
    public convenience init(_ document: Document, styleSheet: StyleSheet = .default) {
        self.init(frame: .zero)
        self.styleSheet = styleSheet
        self.document = document
    }

    /// A label without text.
    public override init(frame: NSRect) {
        super.init(frame: frame)
        setUp()
    }

    /// A label out of a nib.
    public required init?(coder: NSCoder) {
        super.init(coder: coder)
        setUp()
    }

    private func setUp() {
        textView.isEditable = false
        textView.isSelectable = true
        textView.drawsBackground = false
        textView.textContainerInset = .zero
        textView.textContainer?.lineFragmentPadding = 0
        // Colours and underlines of links are those of the sheet.
        textView.linkTextAttributes = [:]
        textView.frame = bounds
        textView.autoresizingMask = [.width, .height]
        addSubview(textView)
    }

    /// As high as the text at the width that the view has.
    public override var intrinsicContentSize: NSSize {
        guard let manager = textView.textLayoutManager else { return super.intrinsicContentSize }
        manager.ensureLayout(for: manager.documentRange)
        return NSSize(width: NSView.noIntrinsicMetric, height: manager.usageBoundsForTextContainer.height.rounded(.up))
    }

    /// A new width makes a new height.
    public override func setFrameSize(_ newSize: NSSize) {
        super.setFrameSize(newSize)
        invalidateIntrinsicContentSize()
    }

    /// A new appearance makes new colours.
    public override func viewDidChangeEffectiveAppearance() {
        super.viewDidChangeEffectiveAppearance()
        show()
    }

    private func show() {
        let text = StyledText(document, style: styleSheet, environment: .init(effectiveAppearance))
        textView.textStorage?.setAttributedString(
            NSAttributedString(text, linkSchemes: linkSchemes, image: image))
        invalidateIntrinsicContentSize()
    }
}

extension StyleSheet.Environment {
    /// What a view is shown in, at the usual size.
    public init(_ appearance: NSAppearance) {
        self.init(appearance: appearance.bestMatch(from: [.aqua, .darkAqua]) == .darkAqua ? .dark : .light)
    }
}
#endif
