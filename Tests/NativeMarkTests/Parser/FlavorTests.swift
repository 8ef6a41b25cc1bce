import NativeMark
import Testing

@Suite struct `Flavors` {
    @Test(arguments: FlavorTable.rows)
    func `a text is shown as GitHub shows it, and without extensions as CommonMark says`(
        row: FlavorTable.Row
    ) {
        #expect(html(row.markdown) == row.html)
        #expect(html(row.markdown, .commonMark) == row.commonMark)
    }

    @Test func `a byte order mark is ignored only at the beginning of a text that arrives in pieces`() {
        var stream = DocumentStream()
        stream.append("\u{FEFF}# a\n\n")
        stream.append("\u{FEFF}# b\n")
        stream.finish()
        #expect(stream.blocks.map { HTMLRenderer().render($0.document) } == ["<h1>a</h1>\n", "<p>\u{FEFF}# b</p>\n"])
        #expect(stream.source == "\u{FEFF}# a\n\n\u{FEFF}# b\n")
    }

    @Test func `the range of a heading begins after the byte order mark`() {
        #expect(Document("\u{FEFF}# a").root.firstChild?.sourceRange == 3..<6)
    }
}

/// The rules of cmark-gfm, as GitHub shows them, and what the same text is without extensions.
///
/// The HTML is that of cmark-gfm 0.29.0.gfm.6, except that the markup of task items, alignments and footnotes is our own.
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
