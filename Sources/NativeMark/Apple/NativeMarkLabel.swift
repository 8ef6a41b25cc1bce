// Type-checked against stub modules by Scripts/checks/apple.py. No test runs this code.
#if canImport(UIKit) && !os(watchOS)
public import Foundation
public import UIKit

/// A UIKit view that shows a document. Its height fits the text. Readers can open links and select text.
///
///     let label = NativeMarkLabel(Document("Hello *world*"))
///     stack.addArrangedSubview(label)
///
/// The label updates when the document, style sheet, appearance, contrast or size category changes. Links open as in any text view: through
/// the system or the `delegate`.
public final class NativeMarkLabel: UITextView {
    /// The document to show.
    public var document = Document("") { didSet { show() } }
    /// The style sheet.
    public var styleSheet = StyleSheet.default { didSet { show() } }
    /// The code highlighter. By default, code has one style.
    public var highlighter: (any CodeHighlighter)? { didSet { show() } }
    /// The schemes that links may open; see ``StyledText/Link/url(schemes:)``.
    public var linkSchemes = StyledText.Link.openSchemes { didSet { show() } }
    /// Returns an image if it is already loaded. Set the property again after more images have loaded.
    public var image: (StyledText.Image) -> UIImage? = { _ in nil } { didSet { show() } }

    /// The source of the document. Setting it parses the text.
    public var markdown: String {
        get { document.source }
        set { document = Document(newValue) }
    }

    /// Creates a label that shows a document.
    public convenience init(_ document: Document, styleSheet: StyleSheet = .default) {
        self.init(frame: .zero, textContainer: nil)
        self.styleSheet = styleSheet
        self.document = document
    }

    /// Creates an empty label.
    public override init(frame: CGRect, textContainer: NSTextContainer?) {
        super.init(frame: frame, textContainer: textContainer)
        setUp()
    }

    /// Creates a label from a storyboard.
    public required init?(coder: NSCoder) {
        super.init(coder: coder)
        setUp()
    }

    private func setUp() {
        #if !os(tvOS)
        isEditable = false
        #endif
        isSelectable = true
        isScrollEnabled = false
        backgroundColor = nil
        textContainerInset = .zero
        textContainer.lineFragmentPadding = 0
        // The style sheet determines the color and underline of links.
        linkTextAttributes = [:]
        registerForTraitChanges([
            UITraitUserInterfaceStyle.self, UITraitAccessibilityContrast.self, UITraitPreferredContentSizeCategory.self,
        ]) {
            (label: NativeMarkLabel, _) in
            label.show()
        }
    }

    private func show() {
        let text = StyledText(
            document, style: styleSheet, environment: .init(traitCollection), highlighter: highlighter)
        attributedText = NSAttributedString(text, linkSchemes: linkSchemes, image: image)
    }
}

extension StyleSheet.Environment {
    /// Creates an environment from a view's traits.
    public init(_ traits: UITraitCollection) {
        self.init(
            appearance: traits.userInterfaceStyle == .dark ? .dark : .light,
            contrast: traits.accessibilityContrast == .high ? .increased : .standard,
            sizeCategory: StyleSheet.SizeCategory(traits.preferredContentSizeCategory))
    }
}

extension StyleSheet.SizeCategory {
    /// Creates the category for a UIKit category. An unknown category becomes ``large``.
    public init(_ category: UIContentSizeCategory) {
        self =
            switch category {
            case .extraSmall: .xSmall
            case .small: .small
            case .medium: .medium
            case .extraLarge: .xLarge
            case .extraExtraLarge: .xxLarge
            case .extraExtraExtraLarge: .xxxLarge
            case .accessibilityMedium: .accessibility1
            case .accessibilityLarge: .accessibility2
            case .accessibilityExtraLarge: .accessibility3
            case .accessibilityExtraExtraLarge: .accessibility4
            case .accessibilityExtraExtraExtraLarge: .accessibility5
            default: .large
            }
    }
}
#endif

#if canImport(AppKit) && !canImport(UIKit)
public import AppKit
public import Foundation

/// An AppKit view that shows a document. Its height fits the text. Readers can open links and select text.
///
///     let label = NativeMarkLabel(Document("Hello *world*"))
///     stack.addArrangedSubview(label)
///
/// The label updates when the document, style sheet or appearance changes. macOS has no size categories. Links open as in any text view:
/// through the system or the delegate of ``textView``.
public final class NativeMarkLabel: NSView {
    /// The document to show.
    public var document = Document("") { didSet { show() } }
    /// The style sheet.
    public var styleSheet = StyleSheet.default { didSet { show() } }
    /// The code highlighter. By default, code has one style.
    public var highlighter: (any CodeHighlighter)? { didSet { show() } }
    /// The schemes that links may open; see ``StyledText/Link/url(schemes:)``.
    public var linkSchemes = StyledText.Link.openSchemes { didSet { show() } }
    /// Returns an image if it is already loaded. Set the property again after more images have loaded.
    public var image: (StyledText.Image) -> NSImage? = { _ in nil } { didSet { show() } }

    /// The text view inside the label.
    public let textView = NSTextView(frame: .zero)

    /// The source of the document. Setting it parses the text.
    public var markdown: String {
        get { document.source }
        set { document = Document(newValue) }
    }

    /// Creates a label that shows a document.
    public convenience init(_ document: Document, styleSheet: StyleSheet = .default) {
        self.init(frame: .zero)
        self.styleSheet = styleSheet
        self.document = document
    }

    /// Creates an empty label.
    public override init(frame: NSRect) {
        super.init(frame: frame)
        setUp()
    }

    /// Creates a label from a nib.
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
        // The style sheet determines the color and underline of links.
        textView.linkTextAttributes = [:]
        textView.frame = bounds
        textView.autoresizingMask = [.width, .height]
        addSubview(textView)
    }

    /// The height of the text at the current width. There is no intrinsic width.
    public override var intrinsicContentSize: NSSize {
        guard let manager = textView.textLayoutManager else { return super.intrinsicContentSize }
        manager.ensureLayout(for: manager.documentRange)
        return NSSize(width: NSView.noIntrinsicMetric, height: manager.usageBoundsForTextContainer.height.rounded(.up))
    }

    /// Sets the size and updates the intrinsic height for the new width.
    public override func setFrameSize(_ newSize: NSSize) {
        super.setFrameSize(newSize)
        invalidateIntrinsicContentSize()
    }

    /// Updates the colors for the new appearance.
    public override func viewDidChangeEffectiveAppearance() {
        super.viewDidChangeEffectiveAppearance()
        show()
    }

    private func show() {
        let text = StyledText(
            document, style: styleSheet, environment: .init(effectiveAppearance), highlighter: highlighter)
        textView.textStorage?.setAttributedString(
            NSAttributedString(text, linkSchemes: linkSchemes, image: image))
        invalidateIntrinsicContentSize()
    }
}

extension StyleSheet.Environment {
    /// Creates an environment from an appearance, with the standard text size.
    public init(_ appearance: NSAppearance) {
        let name = appearance.bestMatch(from: [
            .aqua, .darkAqua, .accessibilityHighContrastAqua, .accessibilityHighContrastDarkAqua,
        ])
        self.init(
            appearance: name == .darkAqua || name == .accessibilityHighContrastDarkAqua ? .dark : .light,
            contrast: name == .accessibilityHighContrastAqua || name == .accessibilityHighContrastDarkAqua
                ? .increased : .standard)
    }
}
#endif
