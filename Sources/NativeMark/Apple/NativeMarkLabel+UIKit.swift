// Type-checked against stub modules by Scripts/checks/apple.py; run by no test of ours.
#if canImport(UIKit) && !os(watchOS)
public import Foundation
public import UIKit

/// A document in UIKit: as high as its text, with links that open, and text that can be selected.
///
///     let label = NativeMarkLabel(Document("Hello *world*"))
///     stack.addArrangedSubview(label)
///
/// The text is made again when the document, the sheet, the appearance or the size category changes. Links open as those of
/// every text view do: by the system, or by the `delegate`.
public final class NativeMarkLabel: UITextView {
    /// What is shown.
    public var document = Document("") { didSet { show() } }
    /// How.
    public var styleSheet = StyleSheet.default { didSet { show() } }
    /// What links may open, see ``StyledText/Link/url(schemes:)``.
    public var linkSchemes = StyledText.Link.openSchemes { didSet { show() } }
    /// Gives images that are there already. Set it again when more have come.
    public var image: (StyledText.Image) -> UIImage? = { _ in nil } { didSet { show() } }

    /// The text of the document. Setting it parses it.
    public var markdown: String {
        get { document.source }
        set { document = Document(newValue) }
    }

    /// A label with a document.
    public convenience init(_ document: Document, styleSheet: StyleSheet = .default) {
        self.init(frame: .zero, textContainer: nil)
        self.styleSheet = styleSheet
        self.document = document
    }

    /// A label without text.
    public override init(frame: CGRect, textContainer: NSTextContainer?) {
        super.init(frame: frame, textContainer: textContainer)
        setUp()
    }

    /// A label out of a storyboard.
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
        // Colours and underlines of links are those of the sheet.
        linkTextAttributes = [:]
        registerForTraitChanges([UITraitUserInterfaceStyle.self, UITraitPreferredContentSizeCategory.self]) {
            (label: NativeMarkLabel, _) in
            label.show()
        }
    }

    private func show() {
        let text = StyledText(document, style: styleSheet, environment: .init(traitCollection))
        attributedText = NSAttributedString(text, linkSchemes: linkSchemes, image: image)
    }
}

extension StyleSheet.Environment {
    /// What a view is shown in.
    public init(_ traits: UITraitCollection) {
        self.init(
            appearance: traits.userInterfaceStyle == .dark ? .dark : .light,
            sizeCategory: StyleSheet.SizeCategory(traits.preferredContentSizeCategory))
    }
}

extension StyleSheet.SizeCategory {
    /// The category of UIKit; ``large`` for one that is not known here.
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
