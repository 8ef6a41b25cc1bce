import NativeMark
import Testing

/// The rules of CommonMark for text, each by what would be wrong without it. All of the specification's examples are run by
/// Scripts/checks/commonmark.py; these need nothing but the module.
@Suite struct `Rules of text` {
    static let code: [(String, String)] = [
        ("a ``b\n\n``c``", "<p>a ``b</p>\n<p><code>c</code></p>"),
        ("`a\n\nb`", "<p>`a</p>\n<p>b`</p>"),
        ("` ` `  ` ` a ` `  b  `", "<p><code> </code> <code>  </code> <code>a</code> <code> b </code></p>"),
        ("`` ` `` `\\`", "<p><code>`</code> <code>\\</code></p>"),
        ("`a\nb`", "<p><code>a b</code></p>"), ("`   `", "<p><code>   </code></p>"),
        ("*a`*`", "<p>*a<code>*</code></p>"),
    ]

    @Test(arguments: code) func `of code spans`(_ markdown: String, _ expected: String) {
        #expect(html(markdown) == expected + "\n")
    }

    static let characters: [(String, String)] = [
        ("a \nb", "<p>a\nb</p>"), ("a  \nb", "<p>a<br />\nb</p>"), ("a\\\nb", "<p>a<br />\nb</p>"),
        ("a  ", "<p>a</p>"), ("a\\", "<p>a\\</p>"),
        ("\\a \\é \\* \\\\", "<p>\\a \\é * \\</p>"), ("\\&amp;", "<p>&amp;amp;</p>"),
    ]

    @Test(arguments: characters) func `of line breaks and backslashes`(_ markdown: String, _ expected: String) {
        #expect(html(markdown) == expected + "\n")
    }

    @Test func `an inline that begins in a cell ends in it`() {
        for pair in [
            ("&am", "p;"), ("`a", "b`"), ("*a", "b*"), ("[a", "b](/u)"), ("http://a", ".b.c"), ("[a](/u \"b", "c\")"),
        ] {
            let table = Document("|\(pair.0)|\(pair.1)|\n|-|-|").root.firstChild!
            #expect(table.firstChild!.children.map(\.plainText) == [pair.0, pair.1])
        }
    }

    static let emphasis: [(String, String)] = [
        ("*foo**bar*", "<em>foo**bar</em>"), ("*foo**bar**baz*", "<em>foo<strong>bar</strong>baz</em>"),
        ("foo***bar***baz", "foo<em><strong>bar</strong></em>baz"),
        ("foo******bar*********baz", "foo<strong><strong><strong>bar</strong></strong></strong>***baz"),
        ("**a*b**", "<strong>a*b</strong>"), ("*a**b* c** d*", "<em>a**b</em> c** d*"),
        ("***a** b*", "<em><strong>a</strong> b</em>"), ("**a", "**a"), ("* a*", "<ul>\n<li>a*</li>\n</ul>"),
        ("a_b_c _a_b", "a_b_c _a_b"), ("_a_b b_a_ _a_", "<em>a_b b_a</em> <em>a</em>"), ("a*b*c", "a<em>b</em>c"),
        ("_(a)_b (_a_)", "_(a)_b (<em>a</em>)"), ("a_\"b\"_", "a_&quot;b&quot;_"),
        ("“*(a)*”", "“<em>(a)</em>”"), ("a*“b”*", "a*“b”*"), ("*\u{A0}a*", "*\u{A0}a*"), ("€*€a*", "€<em>€a</em>"),
        ("~a~ ~~b~~ ~~~c~~~", "<s>a</s> <s>b</s> ~~~c~~~"),
        ("*a _b* c_", "<em>a _b</em> c_"), ("*a [b*](/u)", "*a <a href=\"/u\">b*</a>"),
    ]

    @Test(arguments: emphasis) func `of emphasis`(_ markdown: String, _ expected: String) {
        #expect(html(markdown) == (expected.hasPrefix("<ul") ? expected : "<p>\(expected)</p>") + "\n")
    }

    private static func parentheses(_ depth: Int) -> String {
        String(repeating: "(", count: depth) + "a" + String(repeating: ")", count: depth)
    }

    static let links: [(String, String)] = [
        ("[a [b](/c) d](/e)", "[a <a href=\"/c\">b</a> d](/e)"),
        ("[a ![b [c](/d)](/e)](/f)", "[a <img src=\"/e\" alt=\"b c\" />](/f)"),
        ("[![a](/b)](/c)", "<a href=\"/c\"><img src=\"/b\" alt=\"a\" /></a>"),
        ("[a](/b(c)d)", "<a href=\"/b(c)d\">a</a>"), ("[a](/b(c)", "[a](/b(c)"),
        ("[a](/b\\)c)", "<a href=\"/b)c\">a</a>"),
        ("[a](\(parentheses(32)))", "<a href=\"\(parentheses(32))\">a</a>"),
        ("[a](\(parentheses(33)))", "[a](\(parentheses(33)))"),
        ("[a](<b\nc>)", "[a](&lt;b\nc&gt;)"), ("[a](<b c>)", "<a href=\"b%20c\">a</a>"), ("[a](b c)", "[a](b c)"),
        ("[a](<b<c>)", "[a](&lt;b&lt;c&gt;)"),
        ("[a](b (c))", "<a href=\"b\" title=\"c\">a</a>"), ("[a](b (c(d)))", "[a](b (c(d)))"),
        ("[a](b 'c' 'd')", "[a](b 'c' 'd')"), ("[a](b \"c\\\"&amp;\")", "<a href=\"b\" title=\"c&quot;&amp;\">a</a>"),
        ("[a](/ä%20%zz\"\\&amp;)", "<a href=\"/%C3%A4%20%25zz%22&amp;amp;\">a</a>"),
        ("[a] (b)", "[a] (b)"), ("[a]()", "<a href=\"\">a</a>"),
    ]

    @Test(arguments: links) func `of links`(_ markdown: String, _ expected: String) {
        #expect(html(markdown) == "<p>\(expected)</p>\n")
    }

    static let references: [(String, String)] = [
        ("[a]\n\n[a]: /1\n[a]: /2", "<p><a href=\"/1\">a</a></p>"),
        ("[ b  c ]\n\n[B C]: /1", "<p><a href=\"/1\"> b  c </a></p>"),
        ("[x][ b  c ]\n\n[B\nC]: /1", "<p><a href=\"/1\">x</a></p>"),
        ("[a][]\n\n[a]: <> 't'", "<p><a href=\"\" title=\"t\">a</a></p>"),
        ("[a][b]\n\n[a]: /1", "<p>[a][b]</p>"),
        ("[a][b][c]\n\n[b]: /1\n[c]: /2", "<p><a href=\"/1\">a</a><a href=\"/2\">c</a></p>"),
        ("[a][b][c]\n\n[a]: /1\n[c]: /2", "<p>[a]<a href=\"/2\">b</a></p>"),
        ("[a[b]]\n\n[a[b]]: /1", "<p>[a[b]]</p>\n<p>[a[b]]: /1</p>"),
        ("![a][b]\n\n[b]: /1 'c'", "<p><img src=\"/1\" alt=\"a\" title=\"c\" /></p>"),
        ("[a]: /1 'b' c\n\n[a]", "<p>[a]: /1 'b' c</p>\n<p>[a]</p>"),
        ("[a]: /1\n'b' c\n\n[a]", "<p>'b' c</p>\n<p><a href=\"/1\">a</a></p>"),
        ("[ ]: /1\n\n[ ]", "<p>[ ]: /1</p>\n<p>[ ]</p>"),
        ("b\n[a]: /1\n\n[a]", "<p>b\n[a]: /1</p>\n<p>[a]</p>"),
    ]

    @Test(arguments: references) func `of references`(_ markdown: String, _ expected: String) {
        #expect(html(markdown, .commonMark) == expected + "\n")
    }

    static let autolinks: [(String, String)] = [
        ("<http://a.b?c=d&e>", "<a href=\"http://a.b?c=d&amp;e\">http://a.b?c=d&amp;e</a>"),
        ("<a+b.c:>", "<a href=\"a+b.c:\">a+b.c:</a>"), ("<a:b>", "&lt;a:b&gt;"), ("<http://a b>", "&lt;http://a b&gt;"),
        ("<a@b.c>", "<a href=\"mailto:a@b.c\">a@b.c</a>"), ("<a@-b.c>", "&lt;a@-b.c&gt;"),
        ("<a\\@b.c>", "&lt;a@b.c&gt;"),
        ("<\(String(repeating: "a", count: 33)):b>", "&lt;\(String(repeating: "a", count: 33)):b&gt;"),
    ]

    @Test(arguments: autolinks) func `of links in angle brackets`(_ markdown: String, _ expected: String) {
        #expect(html(markdown, .commonMark) == "<p>\(expected)</p>\n")
    }

    @Test func `of HTML, which keeps text from becoming markup`() {
        #expect(html("\"<&>\"") == "<p>&quot;&lt;&amp;&gt;&quot;</p>\n")
        #expect(html("[a](b\"c 'd\"e<f>')") == "<p><a href=\"b%22c\" title=\"d&quot;e&lt;f&gt;\">a</a></p>\n")
        #expect(html("![\"a\"<b>](c)") == "<p><img src=\"c\" alt=\"&quot;a&quot;&lt;b&gt;\" /></p>\n")
        #expect(html("```\"a<b\n\"c<d\n```").hasPrefix("<pre><code class=\"language-&quot;a&lt;b\">&quot;c&lt;d"))
    }
}
