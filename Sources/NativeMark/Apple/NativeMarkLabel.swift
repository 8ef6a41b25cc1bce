// Type-checked against stub modules by Scripts/checks/apple.py. No test runs this code.
#if canImport(UIKit) && !os(watchOS)
public import Foundation
public import UIKit

/// A UIKit view that shows a document. Its height fits the text.
///
///     let label = NativeMarkLabel(Document("Hello *world*"))
///     label.onOpenLink = { url in router.open(url) }
///     stack.addArrangedSubview(label)
///
/// The label updates when the document, style sheet, appearance, contrast or size category changes. Readers can open links, and on iOS and
/// visionOS select and copy text. VoiceOver reads each block and each link.
///
/// The whole text is laid out and drawn, so for long documents use ``DocumentLayout``.
public final class NativeMarkLabel: UIView {
    /// The style sheet of labels without one of their own. Set it when the app starts: labels that show text already don't change.
    public static var defaultStyleSheet = StyleSheet.default

    /// The document to show.
    public var document = Document("") {
        didSet {
            update()
            loadImages()
        }
    }
    /// The style sheet, or `nil` for ``defaultStyleSheet``.
    public var styleSheet: StyleSheet? { didSet { update() } }
    /// The code highlighter. By default, code has one style.
    public var highlighter: (any CodeHighlighter)? { didSet { update() } }
    /// The number of lines that are shown, or `nil` for all. If there is more text, the last line ends with an ellipsis.
    public var lineLimit: Int? { didSet { update() } }
    /// The schemes that links may open; see ``StyledText/Link/url(schemes:)``.
    public var linkSchemes = StyledText.Link.openSchemes
    /// Opens a link. By default, the system does.
    public var onOpenLink: ((URL) -> Void)?
    /// Loads images, at most four concurrently. An image has its own size, with a point for each pixel, unless the sheet's `imageLayout` says
    /// otherwise. Its alternative text is shown until it is loaded, and if loading fails.
    public var imageLoader: StyledText.ImageLoader? { didSet { loadImages() } }

    private let content = LabelContent()
    /// What SwiftUI's environment says, instead of the view's own traits.
    var environment: StyleSheet.Environment? { didSet { if environment != oldValue { update() } } }
    private var touched: CGPoint?
    private var lastWidth: CGFloat = 0
    #if os(iOS) || os(visionOS)
    private lazy var selection = LabelSelection { [weak self] in
        guard let self, bounds.width > 0 else { return nil }
        return (content.text, layout(width: bounds.width))
    }
    #endif

    /// The source of the document. Setting it parses the text.
    public var markdown: String {
        get { document.source }
        set { document = Document(newValue) }
    }

    /// Creates a label that shows a document.
    public convenience init(_ document: Document, styleSheet: StyleSheet? = nil) {
        self.init(frame: .zero)
        self.styleSheet = styleSheet
        self.document = document
    }

    /// Creates an empty label.
    public override init(frame: CGRect) {
        super.init(frame: frame)
        setUp()
    }

    /// Creates a label from a storyboard.
    public required init?(coder: NSCoder) {
        super.init(coder: coder)
        setUp()
    }

    private func setUp() {
        isOpaque = false
        contentMode = .redraw
        #if os(iOS) || os(visionOS)
        addSubview(selection)
        #endif
        registerForTraitChanges([
            UITraitUserInterfaceStyle.self, UITraitAccessibilityContrast.self, UITraitPreferredContentSizeCategory.self,
        ]) {
            (label: NativeMarkLabel, _) in
            label.update()
        }
    }

    private func update() {
        let environment = environment ?? .init(traitCollection)
        let text = StyledText(
            document, style: styleSheet ?? Self.defaultStyleSheet, environment: environment, highlighter: highlighter)
        content.show(text, lineLimit: lineLimit)
        #if os(iOS) || os(visionOS)
        selection.clear()
        #endif
        changed()
    }

    private func loadImages() {
        content.loadImages(imageLoader) { [weak self] in self?.changed() }
    }

    private func changed() {
        invalidateIntrinsicContentSize()
        setNeedsDisplay()
        accessibilityElements = nil
    }

    // MARK: Size

    private func layout(width: CGFloat) -> TextLayout {
        var layout: TextLayout?
        // Colors from the asset catalog follow the current traits.
        traitCollection.performAsCurrent { layout = content.layout(width: Double(width)) }
        return layout ?? content.layout(width: Double(width))
    }

    /// The height of the text at the current width. There is no intrinsic width.
    public override var intrinsicContentSize: CGSize {
        guard bounds.width > 0 else { return CGSize(width: UIView.noIntrinsicMetric, height: UIView.noIntrinsicMetric) }
        return CGSize(width: UIView.noIntrinsicMetric, height: sizeThatFits(bounds.size).height)
    }

    /// Returns the width of `size`, and the height of the text at this width.
    public override func sizeThatFits(_ size: CGSize) -> CGSize {
        CGSize(width: size.width, height: CGFloat(layout(width: size.width).size.height.rounded(.up)))
    }

    /// Updates the intrinsic height for a new width.
    public override func layoutSubviews() {
        super.layoutSubviews()
        #if os(iOS) || os(visionOS)
        selection.frame = bounds
        #endif
        guard bounds.width != lastWidth else { return }
        lastWidth = bounds.width
        changed()
    }

    /// Draws the text.
    public override func draw(_ rect: CGRect) {
        guard let context = UIGraphicsGetCurrentContext(), bounds.width > 0 else { return }
        content.draw(in: context, width: Double(bounds.width))
    }

    // MARK: Links

    /// Remembers where a touch begins.
    public override func touchesBegan(_ touches: Set<UITouch>, with event: UIEvent?) {
        touched = touches.first?.location(in: self)
        super.touchesBegan(touches, with: event)
    }

    /// Opens the link under a touch that hasn't moved.
    public override func touchesEnded(_ touches: Set<UITouch>, with event: UIEvent?) {
        super.touchesEnded(touches, with: event)
        guard let began = touched, let ended = touches.first?.location(in: self), began.isNear(ended) else { return }
        touched = nil
        if let url = content.url(at: ended, width: Double(bounds.width), schemes: linkSchemes) { follow(url) }
    }

    fileprivate func follow(_ url: URL) {
        if let onOpenLink { onOpenLink(url) } else { UIApplication.shared.open(url) }
    }

    // MARK: Accessibility

    /// The blocks and links that VoiceOver reads.
    public override var accessibilityElements: [Any]? {
        get {
            if let elements = super.accessibilityElements { return elements }
            let elements = layout(width: bounds.width).accessibleParts(of: content.text).map { part in
                let element = LabelElement(accessibilityContainer: self)
                element.accessibilityLabel = part.label
                element.accessibilityFrameInContainerSpace = CGRect(part.rectangle)
                element.accessibilityTraits = .staticText
                if case .heading = content.text.blocks[part.block].kind { element.accessibilityTraits = .header }
                if let link = part.link {
                    element.accessibilityTraits = .link
                    element.url = content.text.links[link].url(schemes: linkSchemes)
                }
                return element
            }
            super.accessibilityElements = elements
            return elements
        }
        set { super.accessibilityElements = newValue }
    }
}

extension CGPoint {
    /// Whether a touch that moved from here to there is a tap.
    fileprivate func isNear(_ other: CGPoint) -> Bool { abs(x - other.x) < 10 && abs(y - other.y) < 10 }
}

/// A block or a link for VoiceOver.
private final class LabelElement: UIAccessibilityElement {
    var url: URL?

    override func accessibilityActivate() -> Bool {
        guard let url, let label = accessibilityContainer as? NativeMarkLabel else { return false }
        label.follow(url)
        return true
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

/// An AppKit view that shows a document. Its height fits the text.
///
///     let label = NativeMarkLabel(Document("Hello *world*"))
///     label.onOpenLink = { url in router.open(url) }
///     stack.addArrangedSubview(label)
///
/// The label updates when the document, style sheet or appearance changes. macOS has no size categories. Readers can open links, and select
/// and copy text. VoiceOver reads each block and each link.
///
/// The whole text is laid out and drawn, so for long documents use ``DocumentLayout``.
public final class NativeMarkLabel: NSView {
    /// The style sheet of labels without one of their own. Set it when the app starts: labels that show text already don't change.
    public static var defaultStyleSheet = StyleSheet.default

    /// The document to show.
    public var document = Document("") {
        didSet {
            update()
            loadImages()
        }
    }
    /// The style sheet, or `nil` for ``defaultStyleSheet``.
    public var styleSheet: StyleSheet? { didSet { update() } }
    /// The code highlighter. By default, code has one style.
    public var highlighter: (any CodeHighlighter)? { didSet { update() } }
    /// The number of lines that are shown, or `nil` for all. If there is more text, the last line ends with an ellipsis.
    public var lineLimit: Int? { didSet { update() } }
    /// The schemes that links may open; see ``StyledText/Link/url(schemes:)``.
    public var linkSchemes = StyledText.Link.openSchemes
    /// Opens a link. By default, the system does.
    public var onOpenLink: ((URL) -> Void)?
    /// Loads images, at most four concurrently. An image has its own size, with a point for each pixel, unless the sheet's `imageLayout` says
    /// otherwise. Its alternative text is shown until it is loaded, and if loading fails.
    public var imageLoader: StyledText.ImageLoader? { didSet { loadImages() } }

    private let content = LabelContent()
    /// What SwiftUI's environment says, instead of the view's own appearance.
    var environment: StyleSheet.Environment? { didSet { if environment != oldValue { update() } } }
    /// The offset where a selection began, and the selected text.
    private var anchor: Int?
    private var selection: Range<Int>? { didSet { needsDisplay = true } }

    /// The source of the document. Setting it parses the text.
    public var markdown: String {
        get { document.source }
        set { document = Document(newValue) }
    }

    /// Creates a label that shows a document.
    public convenience init(_ document: Document, styleSheet: StyleSheet? = nil) {
        self.init(frame: .zero)
        self.styleSheet = styleSheet
        self.document = document
    }

    /// Creates an empty label.
    public override init(frame: NSRect) { super.init(frame: frame) }

    /// Creates a label from a nib.
    public required init?(coder: NSCoder) { super.init(coder: coder) }

    private func update() {
        let environment = environment ?? .init(effectiveAppearance)
        let text = StyledText(
            document, style: styleSheet ?? Self.defaultStyleSheet, environment: environment, highlighter: highlighter)
        content.show(text, lineLimit: lineLimit)
        (anchor, selection) = (nil, nil)
        changed()
    }

    private func loadImages() {
        content.loadImages(imageLoader) { [weak self] in self?.changed() }
    }

    private func changed() {
        invalidateIntrinsicContentSize()
        needsDisplay = true
        setAccessibilityChildren(nil)
    }

    // MARK: Size

    /// As in ``TextLayout``, y goes downward.
    public override var isFlipped: Bool { true }

    private func layout(width: CGFloat) -> TextLayout {
        var layout: TextLayout?
        // Colors from the asset catalog follow the current appearance.
        effectiveAppearance.performAsCurrentDrawingAppearance { layout = content.layout(width: Double(width)) }
        return layout ?? content.layout(width: Double(width))
    }

    /// The height of the text at the current width. There is no intrinsic width.
    public override var intrinsicContentSize: NSSize {
        guard bounds.width > 0 else { return NSSize(width: NSView.noIntrinsicMetric, height: NSView.noIntrinsicMetric) }
        return NSSize(width: NSView.noIntrinsicMetric, height: height(width: bounds.width))
    }

    /// Returns the height of the text at a width.
    public func height(width: CGFloat) -> CGFloat { CGFloat(layout(width: width).size.height.rounded(.up)) }

    /// Sets the size and updates the intrinsic height for the new width.
    public override func setFrameSize(_ newSize: NSSize) {
        let isWider = newSize.width != frame.size.width
        super.setFrameSize(newSize)
        if isWider { changed() }
    }

    /// Updates the colors for the new appearance.
    public override func viewDidChangeEffectiveAppearance() {
        super.viewDidChangeEffectiveAppearance()
        update()
    }

    /// Draws the selection and the text.
    public override func draw(_ dirtyRect: NSRect) {
        guard let context = NSGraphicsContext.current?.cgContext, bounds.width > 0 else { return }
        if let selection {
            context.setFillColor(NSColor.selectedTextBackgroundColor.cgColor)
            for rectangle in layout(width: bounds.width).rectangles(of: selection) { context.fill(CGRect(rectangle)) }
        }
        content.draw(in: context, width: Double(bounds.width))
    }

    // MARK: Links and selection

    /// The label receives the command to copy.
    public override var acceptsFirstResponder: Bool { true }

    private func point(of event: NSEvent) -> CGPoint { convert(event.locationInWindow, from: nil) }

    private func offset(at point: CGPoint) -> Int? {
        layout(width: bounds.width).characterIndex(at: .init(x: Double(point.x), y: Double(point.y)))
    }

    /// Begins a selection.
    public override func mouseDown(with event: NSEvent) {
        window?.makeFirstResponder(self)
        (anchor, selection) = (offset(at: point(of: event)), nil)
    }

    /// Extends the selection.
    public override func mouseDragged(with event: NSEvent) {
        guard let anchor, let offset = offset(at: point(of: event)) else { return }
        selection = layout(width: bounds.width).characters(from: anchor, to: offset)
    }

    /// Opens the link under the pointer, if nothing is selected.
    public override func mouseUp(with event: NSEvent) {
        guard selection == nil else { return }
        let url = content.url(at: point(of: event), width: Double(bounds.width), schemes: linkSchemes)
        if let url { follow(url) }
    }

    /// Copies the selected text.
    @objc public func copy(_ sender: Any?) {
        guard let selection else { return }
        NSPasteboard.general.clearContents()
        NSPasteboard.general.setString(String(content.text.substring(selection)), forType: .string)
    }

    /// Selects the whole text.
    public override func selectAll(_ sender: Any?) {
        selection = 0..<content.text.string.utf8.count
    }

    fileprivate func follow(_ url: URL) {
        if let onOpenLink { onOpenLink(url) } else { NSWorkspace.shared.open(url) }
    }

    // MARK: Accessibility

    /// Returns the blocks and links that VoiceOver reads.
    public override func accessibilityChildren() -> [Any]? {
        if let children = super.accessibilityChildren(), !children.isEmpty { return children }
        let children = layout(width: bounds.width).accessibleParts(of: content.text).map { part in
            let element = LabelElement()
            element.label = self
            element.setAccessibilityParent(self)
            element.setAccessibilityFrameInParentSpace(CGRect(part.rectangle))
            element.setAccessibilityLabel(part.label)
            element.setAccessibilityRole(part.link == nil ? .staticText : .link)
            element.url = part.link.flatMap { content.text.links[$0].url(schemes: linkSchemes) }
            return element
        }
        setAccessibilityChildren(children)
        return children
    }
}

/// A block or a link for VoiceOver.
private final class LabelElement: NSAccessibilityElement {
    var url: URL?
    weak var label: NativeMarkLabel?

    override func accessibilityPerformPress() -> Bool {
        guard let url, let label else { return false }
        MainActor.assumeIsolated { label.follow(url) }
        return true
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
