import NativeMark
import SluiceFiles

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// `sluice show`: reads, renders and writes, or hands over to a pager; then come the pictures.
struct ShowRun {
    let options: ShowCommand
    let console: Console

    /// More than anybody reads, and little enough to have in memory several times.
    private static let largestDocument = 256 << 20
    private static let largestStyle = 1 << 20
    /// Lines that are longer are hard to read.
    private static let comfortableWidth = 100

    func run() async throws -> ExitStatus {
        // The style first: a mistake in it is told before standard input is waited for.
        let style = try await self.style()
        let text = try await Self.read(options.file, limit: Self.largestDocument)
        let screen = screen(text, style)
        let shown = screen?.text ?? render(text, style)
        // A pager passes no pictures on.
        if let pager = pager(for: shown),
            await console.interruption.yieldingKeyboard(during: { await pager.show(shown) })
        {
            return Task.isCancelled ? .interrupted : .success
        }
        await console.write(shown, to: .output)
        guard let screen, let size = console.outputSize() else { return .success }
        return await ShowPictures(
            document: options.file, fetches: options.remoteImages, images: console.outputImages, cell: size.cell,
            console: console
        ).run(screen)
    }

    // MARK: Reading

    private func style() async throws -> StyleSheet {
        guard let path = options.style else { return .default }
        let text = try await Self.read(path, limit: Self.largestStyle)
        do {
            return try StyleSheet(json: text)
        } catch {
            throw CommandFailure(.usage, "\(path): \(error)")
        }
    }

    /// What is no UTF-8 is shown as U+FFFD, as the terminal would do.
    private static func read(_ name: String, limit: Int) async throws -> String {
        do {
            return String(decoding: try await InputFile.read(name, limit: limit), as: UTF8.self)
        } catch let error as FileError {
            throw CommandFailure(.localFile, "\(error)")
        }
    }

    // MARK: Writing

    private func render(_ markdown: String, _ style: StyleSheet) -> String {
        let document = Document(markdown)
        switch options.format {
        case .html: return HTMLRenderer(images: !options.noImages).render(document)
        case .text:
            return ended(PlainText(StyledText(document), width: width, imageSources: !options.noImages).string)
        case .terminal:
            return ended(renderer(options.noImages ? .alternativeText : .none).render(styled(document, style)))
        }
    }

    /// The document with what it takes to show pictures in it; nil where there are none to be shown.
    private func screen(_ markdown: String, _ style: StyleSheet) -> PictureScreen? {
        guard options.format == .terminal, !options.noImages, console.outputImages != .none,
            let size = console.outputSize()
        else { return nil }
        // Names are shared with all that ever showed pictures on this terminal.
        return PictureScreen(
            text: styled(Document(markdown), style), renderer: renderer(console.outputImages), size: size,
            firstID: .random(in: 1 << 24...1 << 31))
    }

    private func styled(_ document: Document, _ style: StyleSheet) -> StyledText {
        let environment = StyleSheet.Environment(appearance: options.background == .dark ? .dark : .light)
        return StyledText(document, style: style, environment: environment)
    }

    private func renderer(_ images: TerminalRenderer.ImageProtocol) -> TerminalRenderer {
        // Terminals that know all colours know OSC 8.
        TerminalRenderer(
            width: width, color: console.outputColor, hyperlinks: console.outputColor == .full, images: images)
    }

    private func ended(_ text: String) -> String { text.isEmpty ? "" : text + "\n" }

    private var width: Int {
        options.width ?? console.outputSize().map { min($0.columns, Self.comfortableWidth) } ?? 80
    }

    /// The pager, if what is shown is for a terminal and does not fit on it with the prompt that comes after it.
    private func pager(for shown: String) -> Pager? {
        guard !options.noPager, let size = console.outputSize() else { return nil }
        let rows = shown.utf8.count { $0 == UInt8(ascii: "\n") }
        return rows >= size.rows ? console.pager : nil
    }
}
