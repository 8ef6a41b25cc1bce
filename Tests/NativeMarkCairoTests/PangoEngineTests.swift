#if Cairo
import NativeMark
import NativeMarkCairo
import Testing

@Suite struct PangoEngineTests {
    @Test func `a document has pages`() throws {
        let drawing = CairoDrawing(StyledText(Document("# One\n\nText")))
        #expect(try Array(drawing.pages()).count == 1)
    }
}
#endif
