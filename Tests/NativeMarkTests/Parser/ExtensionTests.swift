import NativeMark
import Testing

@Suite struct `Extensions of CommonMark` {
    @Test func `without extensions, their markup is text`() {
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

    @Test func `a task item is open or done`() {
        let items = Document("- [ ] a\n- [x] b\n- [X] c\n- d\n- [y] e").root.firstChild!.children.map(\.kind)
        #expect(
            items == [.item(task: .open), .item(task: .done), .item(task: .done), .item(task: nil), .item(task: nil)])
    }

    @Test func `a table has alignments, a header, and the same number of cells in each row`() {
        let table = Document("a|b|c|d\n-|:-|:-:|-:\n1|2").root.firstChild!
        #expect(table.kind == .table(alignments: [.none, .leading, .center, .trailing]))
        #expect(table.children.map(\.kind) == [.tableRow(isHeader: true), .tableRow(isHeader: false)])
        #expect(
            table.lastChild!.children.map(\.kind) == [
                .tableCell(.none), .tableCell(.leading), .tableCell(.center), .tableCell(.trailing),
            ])
        #expect(table.lastChild!.children.map(\.plainText) == ["1", "2", "", ""])
    }

    @Test func `a list has its start number, marker and tightness`() {
        func list(_ source: String) -> Document.Kind { Document(source).root.firstChild!.kind }
        #expect(list("- a\n- b") == .list(.init(start: nil, marker: "-", isTight: true)))
        #expect(list("7) a\n\n8) b") == .list(.init(start: 7, marker: ")", isTight: false)))
        #expect(list("000. a") == .list(.init(start: 0, marker: ".", isTight: true)))
        #expect(list("999999999. a") == .list(.init(start: 999_999_999, marker: ".", isTight: true)))
        #expect(list("1000000000. a") == .paragraph)
    }

    // MARK: Bare autolinks

    /// The examples of GFM 6.9, and edge cases.
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

    @Test func `footnotes are at the end, in the order of their first references`() {
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

    @Test func `footnote labels are case-folded, and the first definition wins`() {
        #expect(Document("x[^SS]\n\n[^ß]: one\n[^ss]: two").root.lastChild?.plainText == "one")
    }

    @Test func `emphasis around links and footnotes isn't affected by their contents`() {
        #expect(html("a* [*b*](/u) c*") == "<p>a* <a href=\"/u\"><em>b</em></a> c*</p>\n")
        #expect(html("*a [*b](/u) c*") == "<p><em>a <a href=\"/u\">*b</a> c</em></p>\n")
        #expect(html("*a[^*b*] c*\n\n[^*b*]: d").hasPrefix("<p><em>a<sup"))
    }

    @Test func `in HTML, a footnote reference links to the footnote`() {
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

    @Test(arguments: smart) func `straight punctuation becomes typographic on request`(source: String, expected: String)
    {
        var options = Document.Options.commonMark
        options.smartPunctuation = true
        #expect(html(source, options) == (expected.isEmpty ? "<hr />\n" : "<p>\(expected)</p>\n"))
        #expect(html("\"a\" -- 'b'...", .commonMark) == "<p>&quot;a&quot; -- 'b'...</p>\n")
    }
}

@Suite struct `Flavors` {
    @Test(arguments: FlavorTable.rows)
    func `a text is shown as on GitHub, and without extensions as CommonMark specifies`(row: FlavorTable.Row) {
        #expect(html(row.markdown) == row.html)
        #expect(html(row.markdown, .commonMark) == row.commonMark)
    }

    @Test func `in a text that arrives in pieces, a byte order mark is ignored only at the beginning`() {
        var stream = DocumentStream()
        stream.append("\u{FEFF}# a\n\n")
        stream.append("\u{FEFF}# b\n")
        stream.finish()
        #expect(stream.blocks.map { HTMLRenderer().render($0.document) } == ["<h1>a</h1>\n", "<p>\u{FEFF}# b</p>\n"])
        #expect(stream.source == "\u{FEFF}# a\n\n\u{FEFF}# b\n")
    }

    @Test func `the range of a heading starts after the byte order mark`() {
        #expect(Document("\u{FEFF}# a").root.firstChild?.sourceRange == 3..<6)
    }
}

/// Texts as cmark-gfm, and therefore GitHub, shows them, and as they are shown without extensions.
///
/// The HTML matches cmark-gfm 0.29.0.gfm.6, except that the markup of task items, alignments and footnotes is our own.
enum FlavorTable {
    struct Row: Sendable, CustomTestStringConvertible {
        var markdown: String
        /// The HTML with the default options.
        var html: String
        /// The HTML with `.commonMark`.
        var commonMark: String

        var testDescription: String { markdown }

        /// The same in both flavors unless `commonMark` is given.
        init(_ markdown: String, _ html: String, commonMark: String? = nil) {
            self.markdown = markdown
            self.html = html
            self.commonMark = commonMark ?? html
        }
    }

    static let rows: [Row] = [
        // Strikethrough (GFM 6.5): one tilde or two, and an opener matches a closer of the same length.
        .init("~one~", "<p><s>one</s></p>\n", commonMark: "<p>~one~</p>\n"),
        .init("~~two~~", "<p><s>two</s></p>\n", commonMark: "<p>~~two~~</p>\n"),
        .init("~~~three~~~", "<pre><code class=\"language-three~~~\"></code></pre>\n"),
        .init("a ~~~~four~~~~", "<p>a ~~~~four~~~~</p>\n"),
        .init("H~2~O and x~~2~~", "<p>H<s>2</s>O and x<s>2</s></p>\n", commonMark: "<p>H~2~O and x~~2~~</p>\n"),
        .init("~a~~", "<p>~a~~</p>\n"),
        .init("~~a~", "<p>~~a~</p>\n"),
        .init("~one~~ two~", "<p><s>one~~ two</s></p>\n", commonMark: "<p>~one~~ two~</p>\n"),
        .init("~~one~ two~~", "<p><s>one~ two</s></p>\n", commonMark: "<p>~~one~ two~~</p>\n"),
        .init("~~a ~b~ c~~", "<p><s>a <s>b</s> c</s></p>\n", commonMark: "<p>~~a ~b~ c~~</p>\n"),
        .init("~a ~~b~~ c~", "<p><s>a <s>b</s> c</s></p>\n", commonMark: "<p>~a ~~b~~ c~</p>\n"),
        .init("~ a ~", "<p>~ a ~</p>\n"),
        .init("~~ a ~~", "<p>~~ a ~~</p>\n"),
        .init("~~a\n\nb~~", "<p>~~a</p>\n<p>b~~</p>\n"),
        .init("~~a\nb~~", "<p><s>a\nb</s></p>\n", commonMark: "<p>~~a\nb~~</p>\n"),
        .init("**~a~**", "<p><strong><s>a</s></strong></p>\n", commonMark: "<p><strong>~a~</strong></p>\n"),
        .init("~**a~**", "<p><s>**a</s>**</p>\n", commonMark: "<p>~<strong>a~</strong></p>\n"),
        .init("*~a*~", "<p><em>~a</em>~</p>\n"),
        .init("`~a~`", "<p><code>~a~</code></p>\n"),
        .init("\\~a~", "<p>~a~</p>\n"),
        .init("~a\\~", "<p>~a~</p>\n"),
        .init("[~a](/u)~", "<p><a href=\"/u\">~a</a>~</p>\n"),
        .init("a~b~c", "<p>a<s>b</s>c</p>\n", commonMark: "<p>a~b~c</p>\n"),
        .init("~a~b", "<p><s>a</s>b</p>\n", commonMark: "<p>~a~b</p>\n"),
        .init("~/bin and ~/lib", "<p>~/bin and ~/lib</p>\n"),
        .init("~1 to ~2", "<p>~1 to ~2</p>\n"),
        .init("~~~\n~a~\n~~~", "<pre><code>~a~\n</code></pre>\n"),

        // Tables (GFM 4.10).
        .init(
            "a|b\n-|-\n1|2",
            "<table>\n<thead>\n<tr>\n<th>a</th>\n<th>b</th>\n</tr>\n</thead>\n<tbody>\n<tr>\n<td>1</td>\n<td>2</td>\n</tr>\n</tbody>\n</table>\n",
            commonMark: "<p>a|b\n-|-\n1|2</p>\n"),
        .init(
            "|a|\n|-|",
            "<table>\n<thead>\n<tr>\n<th>a</th>\n</tr>\n</thead>\n</table>\n",
            commonMark: "<p>|a|\n|-|</p>\n"),
        .init("a\n-", "<h2>a</h2>\n"),
        .init("|a|b|\n|-|", "<p>|a|b|\n|-|</p>\n"),
        .init(
            "|a|\n|:-:|\n|x|y|",
            "<table>\n<thead>\n<tr>\n<th style=\"text-align:center\">a</th>\n</tr>\n</thead>\n<tbody>\n<tr>\n<td style=\"text-align:center\">x</td>\n</tr>\n</tbody>\n</table>\n",
            commonMark: "<p>|a|\n|:-:|\n|x|y|</p>\n"),
        .init(
            "|a|b|\n|-|-|\n|x",
            "<table>\n<thead>\n<tr>\n<th>a</th>\n<th>b</th>\n</tr>\n</thead>\n<tbody>\n<tr>\n<td>x</td>\n<td></td>\n</tr>\n</tbody>\n</table>\n",
            commonMark: "<p>|a|b|\n|-|-|\n|x</p>\n"),
        .init(
            "| `a\\|b` | c \\| d |\n|-|-|",
            "<table>\n<thead>\n<tr>\n<th><code>a|b</code></th>\n<th>c | d</th>\n</tr>\n</thead>\n</table>\n",
            commonMark: "<p>| <code>a\\|b</code> | c | d |\n|-|-|</p>\n"),
        .init(
            "a|b\n-|-\n> q",
            "<table>\n<thead>\n<tr>\n<th>a</th>\n<th>b</th>\n</tr>\n</thead>\n</table>\n<blockquote>\n<p>q</p>\n</blockquote>\n",
            commonMark: "<p>a|b\n-|-</p>\n<blockquote>\n<p>q</p>\n</blockquote>\n"),
        .init(
            "a|b\n-|-\n1|2\nc",
            "<table>\n<thead>\n<tr>\n<th>a</th>\n<th>b</th>\n</tr>\n</thead>\n<tbody>\n<tr>\n<td>1</td>\n<td>2</td>\n</tr>\n<tr>\n<td>c</td>\n<td></td>\n</tr>\n</tbody>\n</table>\n",
            commonMark: "<p>a|b\n-|-\n1|2\nc</p>\n"),
        .init(
            "p\na|b\n-|-",
            "<p>p</p>\n<table>\n<thead>\n<tr>\n<th>a</th>\n<th>b</th>\n</tr>\n</thead>\n</table>\n",
            commonMark: "<p>p\na|b\n-|-</p>\n"),
        .init(
            "> a|b\n> -|-\n> 1|2",
            "<blockquote>\n<table>\n<thead>\n<tr>\n<th>a</th>\n<th>b</th>\n</tr>\n</thead>\n<tbody>\n<tr>\n<td>1</td>\n<td>2</td>\n</tr>\n</tbody>\n</table>\n</blockquote>\n",
            commonMark: "<blockquote>\n<p>a|b\n-|-\n1|2</p>\n</blockquote>\n"),
        .init(
            "- a|b\n  -|-",
            "<ul>\n<li>\n<table>\n<thead>\n<tr>\n<th>a</th>\n<th>b</th>\n</tr>\n</thead>\n</table>\n</li>\n</ul>\n",
            commonMark: "<ul>\n<li>a|b\n-|-</li>\n</ul>\n"),
        .init(
            "a|b\n-|-\n\nc",
            "<table>\n<thead>\n<tr>\n<th>a</th>\n<th>b</th>\n</tr>\n</thead>\n</table>\n<p>c</p>\n",
            commonMark: "<p>a|b\n-|-</p>\n<p>c</p>\n"),
        .init(
            "a |\n---",
            "<h2>a |</h2>\n"),
        .init(
            "| Title\n-----",
            "<h2>| Title</h2>\n"),
        .init(
            "# a | b\n--|--",
            "<h1>a | b</h1>\n<p>--|--</p>\n"),
        .init(
            "# | a\n|-|-|",
            "<h1>| a</h1>\n<p>|-|-|</p>\n"),
        .init(
            "Name\n|---|",
            "<table>\n<thead>\n<tr>\n<th>Name</th>\n</tr>\n</thead>\n</table>\n",
            commonMark: "<p>Name\n|---|</p>\n"),
        .init(
            "Name\n:---",
            "<table>\n<thead>\n<tr>\n<th style=\"text-align:left\">Name</th>\n</tr>\n</thead>\n</table>\n",
            commonMark: "<p>Name\n:---</p>\n"),
        .init(
            "Name\n--- |",
            "<table>\n<thead>\n<tr>\n<th>Name</th>\n</tr>\n</thead>\n</table>\n",
            commonMark: "<p>Name\n--- |</p>\n"),
        .init(
            "Name\n- |",
            "<p>Name</p>\n<ul>\n<li>|</li>\n</ul>\n"),
        .init(
            "p\nName\n:-",
            "<p>p</p>\n<table>\n<thead>\n<tr>\n<th style=\"text-align:left\">Name</th>\n</tr>\n</thead>\n</table>\n",
            commonMark: "<p>p\nName\n:-</p>\n"),
        .init(
            "p\n*\n:-",
            "<p>p</p>\n<table>\n<thead>\n<tr>\n<th style=\"text-align:left\">*</th>\n</tr>\n</thead>\n</table>\n",
            commonMark: "<p>p\n*\n:-</p>\n"),
        .init(
            "p\n    a|b\n-|-",
            "<p>p</p>\n<table>\n<thead>\n<tr>\n<th>a</th>\n<th>b</th>\n</tr>\n</thead>\n</table>\n",
            commonMark: "<p>p\na|b\n-|-</p>\n"),
        .init(
            "> p\na|b\n> -|-",
            "<blockquote>\n<p>p</p>\n<table>\n<thead>\n<tr>\n<th>a</th>\n<th>b</th>\n</tr>\n</thead>\n</table>\n</blockquote>\n",
            commonMark: "<blockquote>\n<p>p\na|b\n-|-</p>\n</blockquote>\n"),
        .init(
            "a|b\n-|-\n|",
            "<table>\n<thead>\n<tr>\n<th>a</th>\n<th>b</th>\n</tr>\n</thead>\n</table>\n<p>|</p>\n",
            commonMark: "<p>a|b\n-|-\n|</p>\n"),
        .init("|a|\n|=|", "<p>|a|\n|=|</p>\n"),
        .init(
            "a|b\n--|--\n~x~|*y*",
            "<table>\n<thead>\n<tr>\n<th>a</th>\n<th>b</th>\n</tr>\n</thead>\n<tbody>\n<tr>\n<td><s>x</s></td>\n<td><em>y</em></td>\n</tr>\n</tbody>\n</table>\n",
            commonMark: "<p>a|b\n--|--\n~x~|<em>y</em></p>\n"),

        // Task items (GFM 5.3).
        .init(
            "- [ ] a\n- [x] b\n- [X] c",
            "<ul class=\"contains-task-list\">\n<li class=\"task-list-item\"><input class=\"task-list-item-checkbox\" disabled=\"\" type=\"checkbox\"> a</li>\n<li class=\"task-list-item\"><input class=\"task-list-item-checkbox\" disabled=\"\" type=\"checkbox\" checked=\"\"> b</li>\n<li class=\"task-list-item\"><input class=\"task-list-item-checkbox\" disabled=\"\" type=\"checkbox\" checked=\"\"> c</li>\n</ul>\n",
            commonMark: "<ul>\n<li>[ ] a</li>\n<li>[x] b</li>\n<li>[X] c</li>\n</ul>\n"),
        .init("- [] a", "<ul>\n<li>[] a</li>\n</ul>\n"),
        .init("- [ ]a", "<ul>\n<li>[ ]a</li>\n</ul>\n"),
        .init("- [ ]", "<ul>\n<li>[ ]</li>\n</ul>\n"),
        .init(
            "- [x]\tb",
            "<ul class=\"contains-task-list\">\n<li class=\"task-list-item\"><input class=\"task-list-item-checkbox\" disabled=\"\" type=\"checkbox\" checked=\"\"> b</li>\n</ul>\n",
            commonMark: "<ul>\n<li>[x]\tb</li>\n</ul>\n"),
        .init(
            "1. [ ] a",
            "<ol class=\"contains-task-list\">\n<li class=\"task-list-item\"><input class=\"task-list-item-checkbox\" disabled=\"\" type=\"checkbox\"> a</li>\n</ol>\n",
            commonMark: "<ol>\n<li>[ ] a</li>\n</ol>\n"),
        .init(
            "* [ ] a\n\n  b",
            "<ul class=\"contains-task-list\">\n<li class=\"task-list-item\"><input class=\"task-list-item-checkbox\" disabled=\"\" type=\"checkbox\"> \n<p>a</p>\n<p>b</p>\n</li>\n</ul>\n",
            commonMark: "<ul>\n<li>\n<p>[ ] a</p>\n<p>b</p>\n</li>\n</ul>\n"),
        .init("[ ] a", "<p>[ ] a</p>\n"),
        .init("- \\[ ] a", "<ul>\n<li>[ ] a</li>\n</ul>\n"),
        .init("- a [ ] b", "<ul>\n<li>a [ ] b</li>\n</ul>\n"),
        .init(
            "> - [x] q",
            "<blockquote>\n<ul class=\"contains-task-list\">\n<li class=\"task-list-item\"><input class=\"task-list-item-checkbox\" disabled=\"\" type=\"checkbox\" checked=\"\"> q</li>\n</ul>\n</blockquote>\n",
            commonMark: "<blockquote>\n<ul>\n<li>[x] q</li>\n</ul>\n</blockquote>\n"),

        // Bare autolinks (GFM 6.9).
        .init("www.a.b", "<p><a href=\"http://www.a.b\">www.a.b</a></p>\n", commonMark: "<p>www.a.b</p>\n"),
        .init("http://a.b", "<p><a href=\"http://a.b\">http://a.b</a></p>\n", commonMark: "<p>http://a.b</p>\n"),
        .init("x@y.z", "<p><a href=\"mailto:x@y.z\">x@y.z</a></p>\n", commonMark: "<p>x@y.z</p>\n"),
        .init("`www.a.b`", "<p><code>www.a.b</code></p>\n"),
        .init("[www.a.b](/u)", "<p><a href=\"/u\">www.a.b</a></p>\n"),
        .init("ftp://a.b", "<p>ftp://a.b</p>\n"),

        // Footnotes.
        .init(
            "a[^1]\n\n[^1]: n",
            "<p>a<sup class=\"footnote-ref\"><a href=\"#fn-1\" id=\"fnref-1\">1</a></sup></p>\n<section class=\"footnotes\">\n<ol>\n<li id=\"fn-1\">\n<p>n</p>\n</li>\n</ol>\n</section>\n",
            commonMark: "<p>a<a href=\"n\">^1</a></p>\n"),
        .init(
            "![^1]\n\n[^1]: n",
            "<p>!<sup class=\"footnote-ref\"><a href=\"#fn-1\" id=\"fnref-1\">1</a></sup></p>\n<section class=\"footnotes\">\n<ol>\n<li id=\"fn-1\">\n<p>n</p>\n</li>\n</ol>\n</section>\n",
            commonMark: "<p><img src=\"n\" alt=\"^1\" /></p>\n"),
        .init("![^1]", "<p>![^1]</p>\n"),
        .init("![^1](/u)", "<p>!<a href=\"/u\">^1</a></p>\n", commonMark: "<p><img src=\"/u\" alt=\"^1\" /></p>\n"),
        .init("[^1](/u)", "<p><a href=\"/u\">^1</a></p>\n"),
        .init(
            "[^1][^2]\n\n[^1]: a\n[^2]: b",
            "<p><sup class=\"footnote-ref\"><a href=\"#fn-1\" id=\"fnref-1\">1</a></sup><sup class=\"footnote-ref\"><a href=\"#fn-2\" id=\"fnref-2\">2</a></sup></p>\n<section class=\"footnotes\">\n<ol>\n<li id=\"fn-1\">\n<p>a</p>\n</li>\n<li id=\"fn-2\">\n<p>b</p>\n</li>\n</ol>\n</section>\n",
            commonMark: "<p><a href=\"b\">^1</a></p>\n"),
        .init("[^1]", "<p>[^1]</p>\n"),
        .init("[^a b]: c", ""),
        .init(
            "a[^1]\n\n[^1]: n\n\n    m\n\np",
            "<p>a<sup class=\"footnote-ref\"><a href=\"#fn-1\" id=\"fnref-1\">1</a></sup></p>\n<p>p</p>\n<section class=\"footnotes\">\n<ol>\n<li id=\"fn-1\">\n<p>n</p>\n<p>m</p>\n</li>\n</ol>\n</section>\n",
            commonMark: "<p>a<a href=\"n\">^1</a></p>\n<pre><code>m\n</code></pre>\n<p>p</p>\n"),
        .init(
            "*a[^1]*\n\n[^1]: n",
            "<p><em>a<sup class=\"footnote-ref\"><a href=\"#fn-1\" id=\"fnref-1\">1</a></sup></em></p>\n<section class=\"footnotes\">\n<ol>\n<li id=\"fn-1\">\n<p>n</p>\n</li>\n</ol>\n</section>\n",
            commonMark: "<p><em>a<a href=\"n\">^1</a></em></p>\n"),
        .init(
            "[^A] [^a]\n\n[^a]: n",
            "<p><sup class=\"footnote-ref\"><a href=\"#fn-1\" id=\"fnref-1\">1</a></sup> <sup class=\"footnote-ref\"><a href=\"#fn-1\" id=\"fnref-1-2\">1</a></sup></p>\n<section class=\"footnotes\">\n<ol>\n<li id=\"fn-1\">\n<p>n</p>\n</li>\n</ol>\n</section>\n",
            commonMark: "<p><a href=\"n\">^A</a> <a href=\"n\">^a</a></p>\n"),
        .init("\\[^1]\n\n[^1]: n", "<p>[^1]</p>\n"),
        .init("`[^1]`\n\n[^1]: n", "<p><code>[^1]</code></p>\n"),

        // A byte order mark, and the class of a fence's language, which are the same in both flavors.
        .init("\u{FEFF}# a", "<h1>a</h1>\n"),
        .init("\u{FEFF}", ""),
        .init("a\u{FEFF}", "<p>a\u{FEFF}</p>\n"),
        .init("\u{FEFF}- a", "<ul>\n<li>a</li>\n</ul>\n"),
        .init("\u{FEFF}    a", "<pre><code>a\n</code></pre>\n"),
        .init("\n\u{FEFF}# a", "<p>\u{FEFF}# a</p>\n"),
        .init("```swift\na\n```", "<pre><code class=\"language-swift\">a\n</code></pre>\n"),
        .init("```language-swift\na\n```", "<pre><code class=\"language-swift\">a\n</code></pre>\n"),
        .init("``` language-swift x\na\n```", "<pre><code class=\"language-swift\">a\n</code></pre>\n"),
        .init("```x&#10;footnotes&#10;nativemark\na\n```", "<pre><code class=\"language-x\">a\n</code></pre>\n"),
        .init("```x&#x0C;y\na\n```", "<pre><code class=\"language-x\">a\n</code></pre>\n"),
        .init("```x&Tab;y&#13;z\na\n```", "<pre><code class=\"language-x\">a\n</code></pre>\n"),
        .init("```&#10;x\na\n```", "<pre><code class=\"language-x\">a\n</code></pre>\n"),
        .init("```x&nbsp;y\na\n```", "<pre><code class=\"language-x\u{A0}y\">a\n</code></pre>\n"),
        .init("~~~ language-\na\n~~~", "<pre><code class=\"language-\">a\n</code></pre>\n"),
    ]
}
