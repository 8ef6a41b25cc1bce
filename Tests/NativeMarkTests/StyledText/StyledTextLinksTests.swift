import Testing

@testable import NativeMark

@Suite struct `Links that may be opened` {
    @Test(arguments: [
        ("https://example.com/a?b#c", true), ("HTTP://EXAMPLE.COM", true), ("mailto:a@b.c", true),
        ("settings:audio", false), ("tel:112", false), ("javascript:alert(1)", false), ("", false), ("a/b", false),
        ("//example.com", false), (" https://example.com", false), ("https", false), (":", false),
    ])
    func `have one of the schemes that an app opens`(_ destination: String, _ isOpen: Bool) {
        let link = StyledText.Link(destination: destination, title: nil)
        #expect((link.url() != nil) == isOpen)
    }

    @Test func `may have another scheme if the app says so`() {
        let link = StyledText.Link(destination: "Settings:audio", title: nil)
        #expect(link.url(schemes: ["settings"]).map { "\($0)" } == "Settings:audio")
        #expect(link.url(schemes: []) == nil)
    }
}
