import NativeMark
import Testing

/// The rules of CommonMark and GFM for blocks. Each case would have another result without its rule.
@Suite struct `Rules of blocks` {
    static let lists: [(String, String)] = [
        ("- > a\n  >\n- b", "<ul>\n<li>\n<blockquote>\n<p>a</p>\n</blockquote>\n</li>\n<li>b</li>\n</ul>"),
        ("> - a\n>\n> - b", "<blockquote>\n<ul>\n<li>\n<p>a</p>\n</li>\n<li>\n<p>b</p>\n</li>\n</ul>\n</blockquote>"),
        ("x\n\n- a\n- b", "<p>x</p>\n<ul>\n<li>a</li>\n<li>b</li>\n</ul>"),
        ("- a\n\n  b\n- c", "<ul>\n<li>\n<p>a</p>\n<p>b</p>\n</li>\n<li>\n<p>c</p>\n</li>\n</ul>"),
        ("- a\n\n\n- b", "<ul>\n<li>\n<p>a</p>\n</li>\n<li>\n<p>b</p>\n</li>\n</ul>"),
        (
            "- a\n- ```\n  b\n\n  ```\n- c",
            "<ul>\n<li>a</li>\n<li>\n<pre><code>b\n\n</code></pre>\n</li>\n<li>c</li>\n</ul>"
        ),
        (
            "- a\n  - b\n\n    c\n- d",
            "<ul>\n<li>a\n<ul>\n<li>\n<p>b</p>\n<p>c</p>\n</li>\n</ul>\n</li>\n<li>d</li>\n</ul>"
        ),
        ("- a\n+ b", "<ul>\n<li>a</li>\n</ul>\n<ul>\n<li>b</li>\n</ul>"),
        ("1. a\n1) b", "<ol>\n<li>a</li>\n</ol>\n<ol>\n<li>b</li>\n</ol>"),
        ("a\n7. b", "<p>a\n7. b</p>"), ("a\n1. b", "<p>a</p>\n<ol>\n<li>b</li>\n</ol>"), ("a\n-", "<h2>a</h2>"),
        ("a\n*\nb", "<p>a\n*\nb</p>"), ("-a", "<p>-a</p>"),
        ("-\n\n  a", "<ul>\n<li></li>\n</ul>\n<p>a</p>"), ("-\n  a", "<ul>\n<li>a</li>\n</ul>"),
        ("- a\nb", "<ul>\n<li>a\nb</li>\n</ul>"), ("-     a", "<ul>\n<li>\n<pre><code>a\n</code></pre>\n</li>\n</ul>"),
        ("- - a", "<ul>\n<li>\n<ul>\n<li>a</li>\n</ul>\n</li>\n</ul>"),
    ]

    @Test(arguments: lists) func `lists follow the rules of CommonMark`(_ markdown: String, _ expected: String) {
        #expect(html(markdown) == expected + "\n")
    }

    static let tabs: [(String, String)] = [
        ("-\ta\n\n    b", "<ul>\n<li>\n<p>a</p>\n<p>b</p>\n</li>\n</ul>"),
        ("-\t\ta", "<ul>\n<li>\n<pre><code>  a\n</code></pre>\n</li>\n</ul>"),
        (">\t\ta", "<blockquote>\n<pre><code>  a\n</code></pre>\n</blockquote>"),
        ("  \ta\tb", "<pre><code>a\tb\n</code></pre>"), ("#\ta", "<h1>a</h1>"), ("*\t*\t*", "<hr />"),
        ("- a\n\n\tb", "<ul>\n<li>\n<p>a</p>\n<p>b</p>\n</li>\n</ul>"),
        ("- a\n\n\t\tb", "<ul>\n<li>\n<p>a</p>\n<pre><code>  b\n</code></pre>\n</li>\n</ul>"),
    ]

    @Test(arguments: tabs) func `tabs follow the rules of CommonMark`(_ markdown: String, _ expected: String) {
        #expect(html(markdown) == expected + "\n")
    }

    static let headings: [(String, String)] = [
        ("# a#", "<h1>a#</h1>"), ("# a #", "<h1>a</h1>"), ("## a ##b", "<h2>a ##b</h2>"), ("# a \\#", "<h1>a #</h1>"),
        ("#a", "<p>#a</p>"), ("####### a", "<p>####### a</p>"), ("#", "<h1></h1>"), ("# #", "<h1></h1>"),
        ("[a]: /b\n===\n[a]", "<p>===\n<a href=\"/b\">a</a></p>"), ("a\nb\n=", "<h1>a\nb</h1>"),
        ("a\n= =", "<p>a\n= =</p>"), ("> a\n---", "<blockquote>\n<p>a</p>\n</blockquote>\n<hr />"),
        ("> a\n===", "<blockquote>\n<p>a\n===</p>\n</blockquote>"),
        ("    a\n---", "<pre><code>a\n</code></pre>\n<hr />"),
    ]

    @Test(arguments: headings) func `headings follow the rules of CommonMark`(_ markdown: String, _ expected: String) {
        #expect(html(markdown) == expected + "\n")
    }

    static let code: [(String, String)] = [
        ("```a`b\nc", "<p>```a`b\nc</p>"), ("~~~a`~\nc", "<pre><code class=\"language-a`~\">c\n</code></pre>"),
        ("````\n```\na\n````", "<pre><code>```\na\n</code></pre>"), ("```\na\n~~~", "<pre><code>a\n~~~\n</code></pre>"),
        ("```\na\n``` b\n```", "<pre><code>a\n``` b\n</code></pre>"),
        ("  ```\n    a\n b\n  ```", "<pre><code>  a\nb\n</code></pre>"),
        ("```\na\n    ```", "<pre><code>a\n    ```\n</code></pre>"),
        ("> ```\n> a\nb", "<blockquote>\n<pre><code>a\n</code></pre>\n</blockquote>\n<p>b</p>"),
        ("    a\n\n\nb", "<pre><code>a\n</code></pre>\n<p>b</p>"),
        ("    a\n\n      \n    b", "<pre><code>a\n\n  \nb\n</code></pre>"), ("a\n    b", "<p>a\nb</p>"),
        ("``` &amp;\\* b\n```", "<pre><code class=\"language-&amp;*\"></code></pre>"),
    ]

    @Test(arguments: code) func `code blocks follow the rules of CommonMark`(_ markdown: String, _ expected: String) {
        #expect(html(markdown) == expected + "\n")
    }

    static let others: [(String, String)] = [
        ("> a\nb\n> c", "<blockquote>\n<p>a\nb\nc</p>\n</blockquote>"),
        ("> a\n\nb", "<blockquote>\n<p>a</p>\n</blockquote>\n<p>b</p>"),
        ("> > a\n> b", "<blockquote>\n<blockquote>\n<p>a\nb</p>\n</blockquote>\n</blockquote>"),
        ("> # a\nb", "<blockquote>\n<h1>a</h1>\n</blockquote>\n<p>b</p>"), ("--", "<p>--</p>"), ("- - -", "<hr />"),
        ("a\n***\nb", "<p>a</p>\n<hr />\n<p>b</p>"), ("*-*", "<p><em>-</em></p>"), (" a\n  b", "<p>a\nb</p>"),
    ]

    @Test(arguments: others)
    func `quotes, thematic breaks and paragraphs follow the rules of CommonMark`(_ markdown: String, _ expected: String)
    {
        #expect(html(markdown) == expected + "\n")
    }

    private func table(_ header: [String], _ rows: [[String]] = []) -> String {
        func row(_ cells: [String], _ tag: String) -> String {
            "<tr>\n" + cells.map { "<\(tag)>\($0)</\(tag)>\n" }.joined() + "</tr>\n"
        }
        let body = rows.isEmpty ? "" : "<tbody>\n" + rows.map { row($0, "td") }.joined() + "</tbody>\n"
        return "<table>\n<thead>\n" + row(header, "th") + "</thead>\n" + body + "</table>\n"
    }

    @Test func `tables follow the rules of GFM`() {
        #expect(html("a|b\n-|-\nc|d|e\nf\n\ng") == table(["a", "b"], [["c", "d"], ["f", ""]]) + "<p>g</p>\n")
        #expect(html("a|b\n-|-|-") == "<p>a|b\n-|-|-</p>\n")
        #expect(html("a|b|c\n-|-") == "<p>a|b|c\n-|-</p>\n")
        #expect(html("> a|b\n-|-") == "<blockquote>\n<p>a|b\n-|-</p>\n</blockquote>\n")
        #expect(html("> a\nb|c\n> -|-") == "<blockquote>\n<p>a</p>\n" + table(["b", "c"]) + "</blockquote>\n")
        #expect(html("> a\nb|c\n-|-") == "<blockquote>\n<p>a\nb|c\n-|-</p>\n</blockquote>\n")
        #expect(html("|a|\n|-|\n|`\\|`\\||") == table(["a"], [["<code>|</code>|"]]))
        #expect(html("a|b\n-|-\n> c") == table(["a", "b"]) + "<blockquote>\n<p>c</p>\n</blockquote>\n")
        #expect(html("a|b\n-|-\n    c") == table(["a", "b"]) + "<pre><code>c\n</code></pre>\n")
        #expect(html("x\na|b\n-|-") == "<p>x</p>\n" + table(["a", "b"]))
        #expect(html("# a | b\n--|--") == "<h1>a | b</h1>\n<p>--|--</p>\n")
        #expect(html("a\n-") == "<h2>a</h2>\n")
        #expect(html("a|b\n- | -").hasPrefix("<p>a|b</p>\n<ul>"))
    }

    @Test func `task items follow the rules of GFM`() {
        func tasks(_ markdown: String) -> [Document.TaskState?] {
            Document(markdown).nodes { if case .item = $0.kind { true } else { false } }.map {
                if case .item(let task) = $0.kind { task } else { nil }
            }
        }
        #expect(tasks("- a\n\n  [ ] b\n- [x] c") == [nil, .done])
        #expect(tasks("- [x]c\n- [ ]\n- \\[x] d\n- > [x] e") == [nil, nil, nil, nil])
    }

    @Test func `definitions of footnotes don't nest`() {
        let document = Document("x[^a]\n\n[^a]: [^b]: c d\n\n    [^b]: e f")
        #expect(document.root.children.map(\.kind) == [.paragraph, .footnoteDefinition(label: "a")])
        #expect(document.root.lastChild!.children.map(\.plainText) == ["[^b]: c d", "[^b]: e f"])
    }
}

/// The rules of CommonMark for text. Each case would have another result without its rule. Scripts/checks/commonmark.py runs all examples
/// of the specification; these tests need only the module.
@Suite struct `Rules of text` {
    static let code: [(String, String)] = [
        ("a ``b\n\n``c``", "<p>a ``b</p>\n<p><code>c</code></p>"),
        ("`a\n\nb`", "<p>`a</p>\n<p>b`</p>"),
        ("` ` `  ` ` a ` `  b  `", "<p><code> </code> <code>  </code> <code>a</code> <code> b </code></p>"),
        ("`` ` `` `\\`", "<p><code>`</code> <code>\\</code></p>"),
        ("`a\nb`", "<p><code>a b</code></p>"), ("`   `", "<p><code>   </code></p>"),
        ("*a`*`", "<p>*a<code>*</code></p>"),
    ]

    @Test(arguments: code) func `code spans follow the rules of CommonMark`(_ markdown: String, _ expected: String) {
        #expect(html(markdown) == expected + "\n")
    }

    static let characters: [(String, String)] = [
        ("a \nb", "<p>a\nb</p>"), ("a  \nb", "<p>a<br />\nb</p>"), ("a\\\nb", "<p>a<br />\nb</p>"),
        ("a  ", "<p>a</p>"), ("a\\", "<p>a\\</p>"),
        ("\\a \\é \\* \\\\", "<p>\\a \\é * \\</p>"), ("\\&amp;", "<p>&amp;amp;</p>"),
    ]

    @Test(arguments: characters)
    func `line breaks and backslashes follow the rules of CommonMark`(_ markdown: String, _ expected: String) {
        #expect(html(markdown) == expected + "\n")
    }

    @Test func `an inline that starts in a cell ends in it`() {
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

    @Test(arguments: emphasis) func `emphasis follows the rules of CommonMark`(_ markdown: String, _ expected: String) {
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

    @Test(arguments: links) func `links follow the rules of CommonMark`(_ markdown: String, _ expected: String) {
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

    @Test(arguments: references)
    func `link references follow the rules of CommonMark`(_ markdown: String, _ expected: String) {
        #expect(html(markdown, .commonMark) == expected + "\n")
    }

    static let autolinks: [(String, String)] = [
        ("<http://a.b?c=d&e>", "<a href=\"http://a.b?c=d&amp;e\">http://a.b?c=d&amp;e</a>"),
        ("<a+b.c:>", "<a href=\"a+b.c:\">a+b.c:</a>"), ("<a:b>", "&lt;a:b&gt;"), ("<http://a b>", "&lt;http://a b&gt;"),
        ("<a@b.c>", "<a href=\"mailto:a@b.c\">a@b.c</a>"), ("<a@-b.c>", "&lt;a@-b.c&gt;"),
        ("<a\\@b.c>", "&lt;a@b.c&gt;"),
        ("<\(String(repeating: "a", count: 33)):b>", "&lt;\(String(repeating: "a", count: 33)):b&gt;"),
    ]

    @Test(arguments: autolinks)
    func `links in angle brackets follow the rules of CommonMark`(_ markdown: String, _ expected: String) {
        #expect(html(markdown, .commonMark) == "<p>\(expected)</p>\n")
    }

    @Test func `HTML output escapes text, which therefore can't become markup`() {
        #expect(html("\"<&>\"") == "<p>&quot;&lt;&amp;&gt;&quot;</p>\n")
        #expect(html("[a](b\"c 'd\"e<f>')") == "<p><a href=\"b%22c\" title=\"d&quot;e&lt;f&gt;\">a</a></p>\n")
        #expect(html("![\"a\"<b>](c)") == "<p><img src=\"c\" alt=\"&quot;a&quot;&lt;b&gt;\" /></p>\n")
        #expect(html("```\"a<b\n\"c<d\n```").hasPrefix("<pre><code class=\"language-&quot;a&lt;b\">&quot;c&lt;d"))
    }
}

@Suite struct `Bytes that are not letters` {
    @Test func `a line feed, a carriage return or both end a line`() {
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

    @Test(arguments: entities) func `an entity becomes its character`(source: String, expected: String) {
        #expect(html(source, .commonMark) == "<p>\(expected)</p>\n")
    }

    static let labels: [(String, String)] = [
        ("ẞ", "ss"), ("ß", "SS"), ("ΑΓΩ", "αγω"), ("ς", "Σ"), ("K", "k"), ("ﬁ", "FI"), ("a  b\nc", " A B C "),
        ("İ", "i̇"),
    ]

    @Test(arguments: labels) func `labels match by full case folding`(definition: String, reference: String) {
        #expect(html("[\(reference)]\n\n[\(definition)]: /u", .commonMark).contains("<a href=\"/u\">"))
    }

    @Test func `characters that only look alike make different labels`() {
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

    @Test func `a blank line in an item's code block keeps the spaces after the indentation`() {
        #expect(html("- ```\n      \n  x") == "<ul>\n<li>\n<pre><code>    \nx\n</code></pre>\n</li>\n</ul>\n")
        #expect(html("-\n    \n  x") == "<ul>\n<li></li>\n</ul>\n<p>x</p>\n")
    }

    @Test func `tags are text`() {
        #expect(html("<b>x</b> <!-- y -->\n<div>") == "<p>&lt;b&gt;x&lt;/b&gt; &lt;!-- y --&gt;\n&lt;div&gt;</p>\n")
    }
}
