import NativeMark
import Testing

@Suite struct `Extensions of CommonMark` {
    @Test func `without extensions their markup is text`() {
        for source in ["a | b\n--|--", "~~a~~", "www.example.org", "http://example.org", "a@b.c", "x[^1]\n\n[^1]: y"] {
            let document = Document(source, options: .commonMark)
            for node in document.nodes(where: { _ in true }) {
                switch node.kind {
                case .document, .paragraph, .text, .softBreak: break
                case .link(let destination, _): #expect(source.contains("[^1]") && destination == "y")
                default: Issue.record("\(source): \(node.kind)")
                }
            }
        }
        let item = Document("- [ ] a", options: .commonMark).first { if case .item = $0 { true } else { false } }
        #expect(item?.kind == .item(task: nil))
    }

    @Test func `task items say whether they are done`() {
        let items = Document("- [ ] a\n- [x] b\n- [X] c\n- d\n- [y] e").root.firstChild!.children.map(\.kind)
        #expect(
            items == [.item(task: .open), .item(task: .done), .item(task: .done), .item(task: nil), .item(task: nil)])
    }

    @Test func `a table has alignments, a header, and as many cells in each row`() {
        let table = Document("a|b|c|d\n-|:-|:-:|-:\n1|2").root.firstChild!
        #expect(table.kind == .table(alignments: [.none, .leading, .center, .trailing]))
        #expect(table.children.map(\.kind) == [.tableRow(isHeader: true), .tableRow(isHeader: false)])
        #expect(
            table.lastChild!.children.map(\.kind) == [
                .tableCell(.none), .tableCell(.leading), .tableCell(.center), .tableCell(.trailing),
            ])
        #expect(table.lastChild!.children.map(\.plainText) == ["1", "2", "", ""])
    }

    @Test func `lists know their number, marker and tightness`() {
        func list(_ source: String) -> Document.Kind { Document(source).root.firstChild!.kind }
        #expect(list("- a\n- b") == .list(.init(start: nil, marker: "-", isTight: true)))
        #expect(list("7) a\n\n8) b") == .list(.init(start: 7, marker: ")", isTight: false)))
        #expect(list("000. a") == .list(.init(start: 0, marker: ".", isTight: true)))
        #expect(list("999999999. a") == .list(.init(start: 999_999_999, marker: ".", isTight: true)))
        #expect(list("1000000000. a") == .paragraph)
    }

    // MARK: Bare autolinks

    /// The examples of GFM 6.9, and what is at their edges.
    static let autolinks: [(String, String)] = [
        ("www.commonmark.org", "<a href=\"http://www.commonmark.org\">www.commonmark.org</a>"),
        (
            "Visit www.commonmark.org/help for more information.",
            "Visit <a href=\"http://www.commonmark.org/help\">www.commonmark.org/help</a> for more information."
        ),
        ("Visit www.commonmark.org.", "Visit <a href=\"http://www.commonmark.org\">www.commonmark.org</a>."),
        (
            "Visit www.commonmark.org/a.b.",
            "Visit <a href=\"http://www.commonmark.org/a.b\">www.commonmark.org/a.b</a>."
        ),
        (
            "www.google.com/search?q=Markup+(business)",
            "<a href=\"http://www.google.com/search?q=Markup+(business)\">www.google.com/search?q=Markup+(business)</a>"
        ),
        (
            "www.google.com/search?q=Markup+(business)))",
            "<a href=\"http://www.google.com/search?q=Markup+(business)\">www.google.com/search?q=Markup+(business)</a>))"
        ),
        (
            "(www.google.com/search?q=Markup+(business))",
            "(<a href=\"http://www.google.com/search?q=Markup+(business)\">www.google.com/search?q=Markup+(business)</a>)"
        ),
        (
            "www.google.com/search?q=(business))+ok",
            "<a href=\"http://www.google.com/search?q=(business))+ok\">www.google.com/search?q=(business))+ok</a>"
        ),
        (
            "www.google.com/search?q=commonmark&hl=en",
            "<a href=\"http://www.google.com/search?q=commonmark&amp;hl=en\">"
                + "www.google.com/search?q=commonmark&amp;hl=en</a>"
        ),
        (
            "www.google.com/search?q=commonmark&hl;",
            "<a href=\"http://www.google.com/search?q=commonmark\">www.google.com/search?q=commonmark</a>&amp;hl;"
        ),
        ("www.commonmark.org/he<lp", "<a href=\"http://www.commonmark.org/he\">www.commonmark.org/he</a>&lt;lp"),
        ("http://commonmark.org", "<a href=\"http://commonmark.org\">http://commonmark.org</a>"),
        (
            "(Visit https://encrypted.google.com/search?q=Markup+(business))",
            "(Visit <a href=\"https://encrypted.google.com/search?q=Markup+(business)\">"
                + "https://encrypted.google.com/search?q=Markup+(business)</a>)"
        ),
        ("foo@bar.baz", "<a href=\"mailto:foo@bar.baz\">foo@bar.baz</a>"),
        (
            "hello@mail+xyz.example isn't valid, but hello+xyz@mail.example is.",
            "hello@mail+xyz.example isn't valid, but <a href=\"mailto:hello+xyz@mail.example\">"
                + "hello+xyz@mail.example</a> is."
        ),
        ("a.b-c_d@a.b", "<a href=\"mailto:a.b-c_d@a.b\">a.b-c_d@a.b</a>"),
        ("a.b-c_d@a.b.", "<a href=\"mailto:a.b-c_d@a.b\">a.b-c_d@a.b</a>."),
        ("a.b-c_d@a.b-", "a.b-c_d@a.b-"),
        ("a.b-c_d@a.b_", "a.b-c_d@a.b_"),
        ("_foo@bar.baz", "<a href=\"mailto:_foo@bar.baz\">_foo@bar.baz</a>"),
        ("mailto:foo@bar.baz", "<a href=\"mailto:foo@bar.baz\">mailto:foo@bar.baz</a>"),
        ("*http://a.b/c_d_*", "<em><a href=\"http://a.b/c_d\">http://a.b/c_d</a>_</em>"),
        ("**www.a.b**", "<strong><a href=\"http://www.a.b\">www.a.b</a></strong>"),
        ("xhttp://a.b awww.a.b", "xhttp://a.b awww.a.b"),
        ("http://a_b.c http://a.b_c.d", "http://a_b.c http://a.b_c.d"),
        ("[http://a.b](c) [x@y.z](c)", "<a href=\"c\">http://a.b</a> <a href=\"c\">x@y.z</a>"),
        ("www.a_www.b", "www.a_<a href=\"http://www.b\">www.b</a>"),
        ("www.a_b.c.d", "<a href=\"http://www.a_b.c.d\">www.a_b.c.d</a>"),
        ("`www.a.b`", "<code>www.a.b</code>"),
        ("a@ www. http:// @ a@b :", "a@ www. http:// @ a@b :"),
    ]

    @Test(arguments: autolinks) func `a bare address becomes a link`(source: String, expected: String) {
        #expect(html(source) == "<p>\(expected)</p>\n")
    }

    // MARK: Footnotes

    @Test func `footnotes stand at the end in the order of the first reference`() {
        let document = Document("[^b]: second\n\nx[^a] y[^b] z[^a]\n\n[^a]: first\n    \n    more\n[^c]: unused")
        #expect(
            document.root.children.map(\.kind) == [
                .paragraph, .footnoteDefinition(label: "a"), .footnoteDefinition(label: "b"),
            ])
        let references = document.nodes { if case .footnoteReference = $0.kind { true } else { false } }.map(\.kind)
        #expect(
            references == [
                .footnoteReference(label: "a", number: 1), .footnoteReference(label: "b", number: 2),
                .footnoteReference(label: "a", number: 1),
            ])
        #expect(document.root.firstChild!.nextSibling!.plainText == "first\nmore")
    }

    @Test func `a footnote may refer to others and to itself`() {
        let document = Document("x[^1]\n\n[^1]: see [^2] and [^1]\n[^2]: *end*")
        #expect(document.root.children.count(where: { _ in true }) == 3)
        #expect(document.root.lastChild?.plainText == "end")
    }

    @Test func `a reference without a footnote is text`() {
        #expect(html("x[^1]") == "<p>x[^1]</p>\n")
        #expect(html("x[^ a]\n\n[^ a]: y", .init()).contains("<p>x[^ a]") == false)
    }

    @Test func `labels of footnotes are folded, and the first definition counts`() {
        #expect(Document("x[^SS]\n\n[^ß]: one\n[^ss]: two").root.lastChild?.plainText == "one")
    }

    @Test func `emphasis around links and footnotes is not confused by what is in them`() {
        #expect(html("a* [*b*](/u) c*") == "<p>a* <a href=\"/u\"><em>b</em></a> c*</p>\n")
        #expect(html("*a [*b](/u) c*") == "<p><em>a <a href=\"/u\">*b</a> c</em></p>\n")
        #expect(html("*a[^*b*] c*\n\n[^*b*]: d").hasPrefix("<p><em>a<sup"))
    }

    @Test func `the HTML links back and forth`() {
        #expect(
            html("a[^x]\n\n[^x]: b")
                == "<p>a<sup class=\"footnote-ref\"><a href=\"#fn-1\" id=\"fnref-1\">1</a></sup></p>\n"
                + "<section class=\"footnotes\">\n<ol>\n<li id=\"fn-1\">\n<p>b</p>\n</li>\n</ol>\n</section>\n")
    }

    // MARK: Smart punctuation

    static let smart: [(String, String)] = [
        ("\"a\" 'b'", "“a” ‘b’"), ("it's \"'a' b\"", "it’s “‘a’ b”"), ("a--b---c----d", "a–b—c––d"), ("a...b", "a…b"),
        ("a-b", "a-b"), ("-----", ""), ("\\\"a\\\"", "&quot;a&quot;"), ("\"a", "“a"), ("'80s", "’80s"),
    ]

    @Test(arguments: smart) func `straight punctuation becomes typographic if asked`(source: String, expected: String) {
        var options = Document.Options.commonMark
        options.smartPunctuation = true
        #expect(html(source, options) == (expected.isEmpty ? "<hr />\n" : "<p>\(expected)</p>\n"))
        #expect(html("\"a\" -- 'b'...", .commonMark) == "<p>&quot;a&quot; -- 'b'...</p>\n")
    }
}
