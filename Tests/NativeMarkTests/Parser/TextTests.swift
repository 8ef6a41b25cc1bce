import NativeMark
import Testing

@Suite struct `Bytes that are not letters` {
    @Test func `line feed, carriage return and both end a line`() {
        let expected = html("# a\n\nb  \nc\n\n```\nd\n\ne\n```\n- f\n- g\n", .commonMark)
        for end in ["\r", "\r\n"] {
            let source = "# a\n\nb  \nc\n\n```\nd\n\ne\n```\n- f\n- g\n".split(
                separator: "\n", omittingEmptySubsequences: false
            ).joined(separator: end)
            #expect(html(source, .commonMark) == expected)
        }
    }

    @Test func `NUL becomes the replacement character`() {
        #expect(html("a\u{0}b") == "<p>a\u{FFFD}b</p>\n")
        #expect(html("`\u{0}`") == "<p><code>\u{FFFD}</code></p>\n")
        #expect(html("```\u{0}\n\u{0}\n```") == "<pre><code class=\"language-\u{FFFD}\">\u{FFFD}\n</code></pre>\n")
        #expect(html("[a](\u{0})") == "<p>[a](\u{FFFD})</p>\n" || html("[a](\u{0})").contains("%EF%BF%BD"))
        #expect(html("|\u{0}|\n|-|").contains("<th>\u{FFFD}</th>"))
        #expect(html("&#0;") == "<p>\u{FFFD}</p>\n")
    }

    static let entities: [(String, String)] = [
        ("&AElig;", "Æ"), ("&zwnj;x", "\u{200C}x"), ("&NotEqualTilde;", "≂̸"),
        ("&CounterClockwiseContourIntegral;", "∳"),
        ("&amp", "&amp;amp"), ("&Amp;", "&amp;Amp;"), ("&x;", "&amp;x;"), ("&#65;&#x41;&#X41;", "AAA"),
        ("&#xD800;", "\u{FFFD}"),
        ("&#1114112;", "\u{FFFD}"), ("&#12345678;", "&amp;#12345678;"), ("&#x1234567;", "&amp;#x1234567;"),
        ("&#;&#x;&;", "&amp;#;&amp;#x;&amp;;"), ("&lt;b&gt;", "&lt;b&gt;"), ("&copy;&copy;", "©©"),
    ]

    @Test(arguments: entities) func `an entity is its character`(source: String, expected: String) {
        #expect(html(source, .commonMark) == "<p>\(expected)</p>\n")
    }

    static let labels: [(String, String)] = [
        ("ẞ", "ss"), ("ß", "SS"), ("ΑΓΩ", "αγω"), ("ς", "Σ"), ("K", "k"), ("ﬁ", "FI"), ("a  b\nc", " A B C "),
        ("İ", "i̇"),
    ]

    @Test(arguments: labels) func `labels match by full case folding`(definition: String, reference: String) {
        #expect(html("[\(reference)]\n\n[\(definition)]: /u", .commonMark).contains("<a href=\"/u\">"))
    }

    @Test func `letters that only look alike are different labels`() {
        #expect(!html("[é]\n\n[e]: /u").contains("<a"))
        #expect(!html("[e\u{301}]\n\n[\u{E9}]: /u").contains("<a"))
    }

    static let dangerous = [
        "javascript:a", "JavaScript:a", "vbscript:a", "file:///a", "data:text/html,a", "data:image/svg+xml;x",
        "&#106;avascript:a", "javascript&colon;a",
    ]

    @Test(arguments: dangerous) func `a destination that runs something makes no link`(destination: String) {
        for source in ["[a](\(destination))", "![a](\(destination))", "<\(destination)>", "[a]\n\n[a]: \(destination)"]
        {
            let document = Document(source)
            #expect(
                document.nodes {
                    switch $0.kind {
                    case .link, .image: true
                    default: false
                    }
                }.isEmpty, "\(source)")
        }
    }

    @Test func `harmless data and other schemes make links`() {
        for destination in ["data:image/png;base64,AA", "javascript", "mailto:a@b", "x-y:z", "JAVASCRIPTS:"] {
            #expect(html("![a](\(destination))").contains("<img"), "\(destination)")
        }
    }

    @Test func `a blank line in the code of an item keeps the spaces behind the indentation`() {
        #expect(html("- ```\n      \n  x") == "<ul>\n<li>\n<pre><code>    \nx\n</code></pre>\n</li>\n</ul>\n")
        #expect(html("-\n    \n  x") == "<ul>\n<li></li>\n</ul>\n<p>x</p>\n")
    }

    @Test func `tags are text`() {
        #expect(html("<b>x</b> <!-- y -->\n<div>") == "<p>&lt;b&gt;x&lt;/b&gt; &lt;!-- y --&gt;\n&lt;div&gt;</p>\n")
    }
}
