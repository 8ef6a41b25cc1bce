import Testing

@testable import NativeMark

@Suite struct `Colors where there are no sixteen` {
    @Test func `are those of xterm, and the standard color has none`() throws {
        #expect(StyleSheet.Tone.standard.rgb == nil)
        let own = try #require(StyleSheet.Tone.rgb(0x0A_50C8).rgb)
        #expect(own == (0x0A, 0x50, 0xC8))
        let red = try #require(StyleSheet.Tone.ansi(.red).rgb)
        #expect(red == (0xCD, 0, 0))
        let white = try #require(StyleSheet.Tone.ansi(.brightWhite).rgb)
        #expect(white == (0xFF, 0xFF, 0xFF))
    }
}
