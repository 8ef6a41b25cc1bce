// Type-checked against stub modules by Scripts/checks/apple.py. No test runs this code.
#if canImport(SwiftUI)
import Foundation
import SwiftUI

struct NativeMarkParagraphs: View {
    let text: StyledText
    let layout: ParagraphLayout
    let images: [String: Image]
    let linkSchemes: Set<String>

    var body: some View {
        VStack(alignment: .leading, spacing: 0) {
            ForEach(layout.sections, id: \.lowerBound) { section in
                let first = layout.paragraphs[section.lowerBound]
                if first.table == nil {
                    paragraph(first)
                } else {
                    table(layout.paragraphs[section])
                }
            }
        }
    }

    private func paragraph(_ paragraph: ParagraphLayout.Paragraph) -> some View {
        HStack(alignment: .firstTextBaseline, spacing: 0) {
            ForEach(paragraph.markers.indices, id: \.self) { index in
                let marker = paragraph.markers[index]
                Text(string(marker.text, marker.style))
                    .fixedSize()
                    .frame(minWidth: paragraph.end(ofMarker: index) - marker.start, alignment: .leading)
            }
            content(of: paragraph.cells.first, paragraph)
                .frame(maxWidth: .infinity, alignment: Alignment(paragraph.alignment))
        }
        .padding(.leading, paragraph.markers.isEmpty ? paragraph.indent : paragraph.start)
        .padding(.trailing, paragraph.trailingIndent)
        .padding(.top, paragraph.space)
        .background(alignment: .topLeading) { NativeMarkSides(paragraph: paragraph) }
        .accessibilityAddTraits(isHeading(paragraph) ? .isHeader : [])
    }

    private func table(_ rows: ArraySlice<ParagraphLayout.Paragraph>) -> some View {
        Grid(alignment: .leadingFirstTextBaseline, horizontalSpacing: 16, verticalSpacing: 4) {
            ForEach(rows.indices, id: \.self) { index in
                GridRow {
                    ForEach(rows[index].cells.indices, id: \.self) { column in
                        content(of: rows[index].cells[column], rows[index])
                            .padding(.top, rows[index].space)
                            .gridColumnAlignment(HorizontalAlignment(rows[index].cells[column].alignment))
                    }
                }
            }
        }
        .padding(.leading, rows.first?.indent ?? 0)
        .background(alignment: .topLeading) { rows.first.map { NativeMarkSides(paragraph: $0) } }
    }

    private func content(of cell: ParagraphLayout.Cell?, _ paragraph: ParagraphLayout.Paragraph) -> some View {
        Text(joining: texts(of: cell?.pieces ?? []))
            .multilineTextAlignment(TextAlignment(paragraph.alignment))
            .lineSpacing(paragraph.lineSpacing + extraSpacing(of: paragraph))
    }

    /// SwiftUI has no line height before iOS 26. Lines of the system's fonts are 1.2 em high, so more becomes space between lines.
    private func extraSpacing(of paragraph: ParagraphLayout.Paragraph) -> Double {
        let style = text.blocks[paragraph.block].style
        return style.lineHeight.map { max($0 - 1.2, 0) * style.text.fontSize } ?? 0
    }

    private func isHeading(_ paragraph: ParagraphLayout.Paragraph) -> Bool {
        if case .heading = text.blocks[paragraph.block].kind { true } else { false }
    }

    // MARK: Text

    /// Returns one text for each image and one for the text between two images.
    private func texts(of pieces: [ParagraphLayout.Piece]) -> [Text] {
        var texts: [Text] = []
        var string = AttributedString()
        for piece in pieces {
            let run = text.runs[piece.run]
            if let image = run.image, let loaded = images[text.images[image].source] {
                texts.append(Text(string))
                string = AttributedString()
                texts.append(Text(loaded).accessibilityLabel(Text(verbatim: text.images[image].alternativeText)))
            } else {
                let link = run.link.flatMap { text.links[$0].url(schemes: linkSchemes) }
                string += self.string(String(text.string(of: piece)), run.style, link)
            }
        }
        return texts + [Text(string)]
    }

    private func string(_ string: String, _ style: ResolvedTextStyle, _ link: URL? = nil) -> AttributedString {
        var attributes = AttributeContainer()
        attributes.addSwiftUI(style)
        if let link { attributes[AttributeScopes.FoundationAttributes.LinkAttribute.self] = link }
        return AttributedString(string, attributes: attributes)
    }
}

private struct NativeMarkSides: View {
    let paragraph: ParagraphLayout.Paragraph

    var body: some View {
        ZStack(alignment: .topLeading) {
            if let background = paragraph.background {
                Rectangle()
                    .fill(Color(background.color) ?? .clear)
                    .padding(.leading, background.start)
                    .padding(.trailing, background.trailing)
                    .padding(.top, background.joins ? 0 : paragraph.space)
            }
            ForEach(paragraph.bars.indices, id: \.self) { index in
                let bar = paragraph.bars[index]
                Rectangle()
                    .fill(Color(bar.color) ?? .primary)
                    .frame(width: bar.width)
                    .padding(.leading, bar.start)
                    .padding(.top, bar.joins ? 0 : paragraph.space)
            }
        }
    }
}

extension Text {
    /// Concatenates texts in pairs, because concatenating them one by one would nest as deep as there are texts.
    fileprivate init(joining texts: [Text]) {
        var texts = texts
        while texts.count > 1 {
            texts = stride(from: 0, to: texts.count, by: 2).map {
                $0 + 1 < texts.count ? texts[$0] + texts[$0 + 1] : texts[$0]
            }
        }
        self = texts.first ?? Text(verbatim: "")
    }
}

extension Alignment {
    fileprivate init(_ alignment: StyleSheet.Alignment) {
        switch alignment {
        case .leading, .justified: self = .leading
        case .center: self = .center
        case .trailing: self = .trailing
        }
    }
}

extension TextAlignment {
    fileprivate init(_ alignment: StyleSheet.Alignment) {
        switch alignment {
        case .leading, .justified: self = .leading
        case .center: self = .center
        case .trailing: self = .trailing
        }
    }
}

extension HorizontalAlignment {
    fileprivate init(_ alignment: Document.Alignment) {
        switch alignment {
        case .none, .leading: self = .leading
        case .center: self = .center
        case .trailing: self = .trailing
        }
    }
}
#endif
