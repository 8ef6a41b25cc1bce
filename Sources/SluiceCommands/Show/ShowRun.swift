import NativeMark
import SluiceFiles

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// One run of `sluice show`: reads and renders the document, writes it or starts a pager, and then shows the images.
struct ShowRun {
    let options: ShowCommand
    let console: Console

    /// The largest document in bytes, which fits into memory several times.
    private static let largestDocument = 256 << 20
    private static let largestStyle = 1 << 20
    /// The default limit of columns: longer lines are hard to read.
    private static let comfortableWidth = 100

    func run() async throws -> ExitStatus {
        // The style comes first: a mistake in it is reported before the command waits for standard input.
        let style = try await self.style()
        let text = try await Self.read(options.file, limit: Self.largestDocument)
        let screen = screen(text, style)
        let shown = screen?.text ?? render(text, style)
        // Pagers don't pass on images.
        if let pager = pager(for: shown) {
            let passesLinks = console.outputHyperlinks ? await pager.passesHyperlinks() : true
            let paged = passesLinks ? shown : render(text, style, hyperlinks: false)
            if await console.interruption.yieldingKeyboard(during: { await pager.show(paged) }) {
                return Task.isCancelled ? .interrupted : .success
            }
        }
        await console.write(shown, to: .output)
        guard let screen, let size = console.outputSize() else { return .success }
        return await ShowImages(
            document: options.file, fetches: options.remoteImages, images: console.outputImages, cell: size.cell,
            console: console
        ).run(screen)
    }

    // MARK: Reading

    private func style() async throws -> StyleSheet {
        guard let path = options.style else { return .default }
        if let sheet = StyleSheet.named[path] { return sheet }
        let names = StyleSheet.named.keys.sorted().joined(separator: ", ")
        let text: String
        do {
            text = try await Self.read(path, limit: Self.largestStyle, prefix: "--style: ")
        } catch let failure as CommandFailure where failure.status == .localFile && !path.contains("/") {
            // A mistyped name, most likely.
            throw CommandFailure(
                .usage,
                "--style \(path): There is no style sheet and no readable file with this name. Pass the path of a JSON "
                    + "file, or one of: \(names).")
        }
        do {
            return try StyleSheet(json: text)
        } catch {
            throw CommandFailure(.usage, "--style: \(path): \(error)")
        }
    }

    /// Bytes that aren't UTF-8 become U+FFFD, as in a terminal.
    private static func read(_ name: String, limit: Int, prefix: String = "") async throws -> String {
        do {
            return String(decoding: try await InputFile.read(name, limit: limit), as: UTF8.self)
        } catch let error as FileError {
            throw CommandFailure(.localFile, "\(prefix)\(error)")
        }
    }

    // MARK: Writing

    private func render(_ markdown: String, _ style: StyleSheet, hyperlinks: Bool = true) -> String {
        let document = Document(markdown)
        switch options.format {
        case .html:
            let renderer = HTMLRenderer(images: !options.noImages, style: options.style == nil ? nil : style)
            return renderer.style == nil
                ? renderer.render(document)
                : renderer.renderPage(document, title: title(of: document), highlighter: .languages)
        case .text:
            return ended(PlainText(styled(document, style), width: width, imageSources: !options.noImages).string)
        case .terminal:
            let renderer = renderer(options.noImages ? .alternativeText : .none, hyperlinks: hyperlinks)
            return ended(renderer.render(styled(document, style)))
        }
    }

    /// Returns the first heading, or the name of the file.
    private func title(of document: Document) -> String {
        let heading = document.nodes { if case .heading = $0.kind { true } else { false } }.first?.plainText
        return heading ?? String(options.file.split(separator: "/").last ?? "")
    }

    /// Returns the document with places for images; `nil` if the output doesn't show images.
    private func screen(_ markdown: String, _ style: StyleSheet) -> ImageScreen? {
        guard options.format == .terminal, !options.noImages, console.outputImages != .none,
            let size = console.outputSize()
        else { return nil }
        // Random: the names of images are shared with all other programs on this terminal.
        return ImageScreen(
            text: styled(Document(markdown), style), renderer: renderer(console.outputImages), size: size,
            firstID: .random(in: 1 << 24...1 << 31))
    }

    private func styled(_ document: Document, _ style: StyleSheet) -> StyledText {
        let environment = StyleSheet.Environment(appearance: options.background == .dark ? .dark : .light)
        return StyledText(document, style: style, environment: environment, highlighter: .languages)
    }

    private func renderer(
        _ images: TerminalRenderer.ImageProtocol, hyperlinks: Bool = true
    ) -> TerminalRenderer {
        var renderer = TerminalRenderer(
            width: width, color: console.outputColor, hyperlinks: hyperlinks && console.outputHyperlinks, images: images
        )
        // The end of a command that is cut off couldn't be copied.
        renderer.longCode = .wrap
        return renderer
    }

    private func ended(_ text: String) -> String { text.isEmpty ? "" : text + "\n" }

    private var width: Int {
        options.width ?? console.outputSize().map { min($0.columns, Self.comfortableWidth) } ?? 80
    }

    /// Returns the pager only if the output is a terminal that is too small for the text and the prompt after it.
    private func pager(for shown: String) -> Pager? {
        guard !options.noPager, let size = console.outputSize() else { return nil }
        let rows = shown.utf8.count { $0 == UInt8(ascii: "\n") }
        return rows >= size.rows ? console.pager : nil
    }
}
