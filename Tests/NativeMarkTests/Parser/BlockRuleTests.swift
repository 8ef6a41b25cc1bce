import NativeMark
import Testing

/// The rules of CommonMark and GFM for blocks, each by what would be wrong without it.
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

    @Test(arguments: lists) func `of lists`(_ markdown: String, _ expected: String) {
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

    @Test(arguments: tabs) func `of tabs`(_ markdown: String, _ expected: String) {
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

    @Test(arguments: headings) func `of headings`(_ markdown: String, _ expected: String) {
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

    @Test(arguments: code) func `of code`(_ markdown: String, _ expected: String) {
        #expect(html(markdown) == expected + "\n")
    }

    static let others: [(String, String)] = [
        ("> a\nb\n> c", "<blockquote>\n<p>a\nb\nc</p>\n</blockquote>"),
        ("> a\n\nb", "<blockquote>\n<p>a</p>\n</blockquote>\n<p>b</p>"),
        ("> > a\n> b", "<blockquote>\n<blockquote>\n<p>a\nb</p>\n</blockquote>\n</blockquote>"),
        ("> # a\nb", "<blockquote>\n<h1>a</h1>\n</blockquote>\n<p>b</p>"), ("--", "<p>--</p>"), ("- - -", "<hr />"),
        ("a\n***\nb", "<p>a</p>\n<hr />\n<p>b</p>"), ("*-*", "<p><em>-</em></p>"), (" a\n  b", "<p>a\nb</p>"),
    ]

    @Test(arguments: others) func `of quotes, lines across and paragraphs`(_ markdown: String, _ expected: String) {
        #expect(html(markdown) == expected + "\n")
    }

    private func table(_ header: [String], _ rows: [[String]] = []) -> String {
        func row(_ cells: [String], _ tag: String) -> String {
            "<tr>\n" + cells.map { "<\(tag)>\($0)</\(tag)>\n" }.joined() + "</tr>\n"
        }
        let body = rows.isEmpty ? "" : "<tbody>\n" + rows.map { row($0, "td") }.joined() + "</tbody>\n"
        return "<table>\n<thead>\n" + row(header, "th") + "</thead>\n" + body + "</table>\n"
    }

    @Test func `of tables`() {
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

    @Test func `of tasks`() {
        func tasks(_ markdown: String) -> [Document.TaskState?] {
            Document(markdown).nodes { if case .item = $0.kind { true } else { false } }.map {
                if case .item(let task) = $0.kind { task } else { nil }
            }
        }
        #expect(tasks("- a\n\n  [ ] b\n- [x] c") == [nil, .done])
        #expect(tasks("- [x]c\n- [ ]\n- \\[x] d\n- > [x] e") == [nil, nil, nil, nil])
    }

    @Test func `of footnotes`() {
        let document = Document("x[^a]\n\n[^a]: [^b]: c d\n\n    [^b]: e f")
        #expect(document.root.children.map(\.kind) == [.paragraph, .footnoteDefinition(label: "a")])
        #expect(document.root.lastChild!.children.map(\.plainText) == ["[^b]: c d", "[^b]: e f"])
    }
}
