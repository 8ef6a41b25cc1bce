#!/usr/bin/env python3
"""Proves that NativeMark agrees with markdown-it-py 4.3.0 on random documents, and that its work grows no faster than the text.

    swift build --product MarkdownWorker
    Scripts/checks/markdown-fuzz.py [--seed N] [--count N] [--repetitions N]

The documents consist of fragments that are likely to interact: emphasis, links, lists, quotes, fences, tables, entities, tabs, Unicode
punctuation. If a document gives different HTML, the script shortens it as far as possible, prints it and exits with 1. EXPLAINED lists the
intended differences. `oracle()` removes 1 to 7 and 18 from the oracle. For the others, a document is excused if both agree once the
construct is removed from it (WITHOUT).

Then it repeats fragments: alone, in pairs, one after another, and nested, for each kind of output. Four times the text must take at most
eight times the CPU time, and give at most six times the output. A repetition that fails is checked again with four times as much text,
because limits and noise may explain one step. Prints the repetitions that grow faster and exits with 1.
"""
import argparse, collections, importlib, random, re, sys

import commonmark as common

EXPLAINED = """
1. Paragraphs, headings and cells lose spaces and tabs at their ends, as CommonMark says; markdown-it also removes no-break spaces
   and similar characters.
2. The spaces at the beginning of a line of a paragraph are removed before code spans and titles are read, as in cmark, the reference
   implementation; markdown-it removes them only outside of these.
3. Host names are not converted to punycode, and the text of an autolink is not percent-decoded: CommonMark shows the source text.
4. A numeric reference to a control character or non-character gives that character. Invalid ones give U+FFFD, also in titles
   (CommonMark 2.5).
5. A document ends in a line feed: without one, markdown-it omits the line feed of the last line of code.
6. A line that begins a list, quote, fence, heading or thematic break isn't a header of a table, and dashes without a pipe or colon
   underline a heading; markdown-it looks for tables first. GFM 4.10. But `2.` begins no list where it continues a paragraph. (With a letter instead of such a number both must agree.)
7. In the description of an image within the description of an image, markdown-it ignores backslash escapes and entities.
8. A line after a link reference definition continues its paragraph, as in cmark. So it may be lazy, and indented code, `2)` or an
   empty item can't begin there. In markdown-it the definition is a separate block. (With a blank line in between both must agree.)
9. markdown-it miscounts the columns of a tab after the marker of a quote (CommonMark 2.2). (With a space there both must agree.)
10. A marker indented by four columns or more is text or code (CommonMark 4.4). markdown-it ignores that in a line that is less deeply
   nested than the list or quote before it. (With a letter instead of the marker both must agree.)
11. Spaces at the end of a line are removed; markdown-it keeps one after a backslash. (With a letter instead both must agree.)
12. A destination in a definition may end in a backslash; markdown-it makes the line feed or tab after it a part of the destination.
   (With a letter instead of the backslash both must agree.)
13. The delimiters at the end of a link's text are followed by a bracket; markdown-it sees a space (CommonMark 6.2, rule of three).
   (With a space there both must agree.)
14. `[[]]` isn't a label (CommonMark 6.3), so `[foo]` before it may be a separate link; in markdown-it it is a label.
   (With a space in between both must agree.)
15. If `](` begins no link, markdown-it looks for the label of a reference after the text that it has read, which may be anywhere.
   (With a space between the two characters both must agree.)
16. A lazy continuation line may be the header of a table in the item, as in cmark-gfm; in markdown-it it ends the item. (With a letter
   before the line of dashes, which is in the item, both must agree.)
17. An empty item belongs to the list, regardless of the number of blank lines after it; in markdown-it two blank lines end the list.
   (With one both must agree.)
18. One tilde strikes through as two do, an opener matches a closer of the same length, and three tildes or more are text, as on GitHub.
19. The header of a table needs no pipe, and continues a paragraph with any indentation, as in cmark-gfm. (With a letter before a line of
   dashes for one column, or below an indented line, both must agree.)
20. A line with only a pipe ends a table, as in cmark-gfm; in markdown-it it is an empty row. (With a letter after the pipe both must
   agree.)
"""

FRAGMENTS = [
    "a", "b", "foo", "bar baz", "1", "é", "ß", "日本", "“", "”", "—", "€", "\u00a0", "\u2003", "«x»",
    "*", "**", "***", "****", "_", "__", "___", "*a*", "**b**", "_c_", "__d__", "*a", "b*", "**a", "b**", "_a", "b_", "a*b",
    "~~", "~~~~", "~~~", "~", "~~x~~", "`", "``", "```", "`x`", "`` ` ``", "\\", "\\*", "\\`", "\\[", "\\\\", "\\|",
    "[", "]", "![", "(", ")", "](", "](/u)", "](<u v>)", "](/u \"t\")", "](/u 't')", "][", "][]", "[foo]", "[foo][]", "[foo][bar]",
    "[x](/u)", "![x](/u)", "[*x*](/u \"t\")", "](javascript:a)", "](a(b)c)", "](", "[]()", "[x](", "<", ">", "<a>", "</a>",
    "<http://x.y>", "<a@b.c>", "<!-- -->", "&amp;", "&lt;", "&copy;", "&#35;", "&#x22;", "&", "&nbsp;", "&hellip;", "&x;", "&#0;",
    "!", "\"", "'", ".", ",", "-", "+", "#", "=", ":", "|", "  ", " ", "\t", "   ",
]
LINES = [
    "", "", "", " ", "\t", "- ", "* ", "+ ", "1. ", "2) ", "10. ", "-\t", "-", "*", "1.", "  - ", "    ", "   ", "  ", "\t", ">", "> ",
    ">\t", ">> ", " > ", "# ", "## ", "###### ", "#", "---", "***", "___", "- - -", "===", "=", "-----", "```", "~~~", "````", "``` foo",
    "~~~ a b", "    code", "\tcode", "[foo]: /url", "[foo]: /url \"title\"", "[bar]: <b c> 'd'", "[foo]:", "/url", "'title'",
    "| a | b |", "|---|---|", "a | b", "--|--", "| :-: | -: |", "|-|", "| a |", "| x \\| y | `a\\|b` |", "|", "-|-", ":--", "1. a", "- a",
    "  b", "> a", "> - b", "- > c", "<div>", "<!--", "</div>", "&gt; a", "\\# a", "1) ", "-   ", "-      x", "  1. ", "# a #", "## b ##  ",
]


def document(random):
    lines = []
    for _ in range(random.randint(1, random.choice((2, 4, 8)))):
        line = ""
        for _ in range(random.choice((0, 1, 1, 2, 3))):
            line += random.choice(LINES)
        for _ in range(random.choice((0, 0, 1, 2, 4, 8))):
            line += random.choice(FRAGMENTS)
        lines.append(line)
    return "\n".join(lines) + random.choice(("", "\n"))


def oracle():
    """Returns markdown-it-py without the explained differences."""
    module = lambda name: importlib.import_module("markdown_it." + name)
    utils, renderer, entity = module("common.utils"), module("renderer"), module("rules_inline.entity")
    heading, lheading, paragraph, table = (module("rules_block." + n) for n in ("heading", "lheading", "paragraph", "table"))
    import mdurl
    from markdown_it import MarkdownIt

    trim = lambda text: text.strip(" \t\n")
    lines = lambda text: re.sub(r"\n[ \t]+", "\n", trim(text))
    heading.mdTrim = table.mdTrim = renderer.mdTrim = trim
    renderer.MD_TRIM_RE = re.compile("[ \t\n]+")
    paragraph.mdTrim = lheading.mdTrim = lines
    is_valid = lambda code: 0 < code <= 0x10FFFF and not 0xD800 <= code <= 0xDFFF
    utils.isValidEntityCode = entity.isValidEntityCode = is_valid

    def replace(match, name):
        if name in utils.entities:
            return utils.entities[name]
        number = re.fullmatch(r"#(?:[xX]([0-9a-fA-F]{1,6})|([0-9]{1,7}))", name)
        if not number:
            return match
        code = int(number[1], 16) if number[1] else int(number[2])
        return chr(code) if is_valid(code) else "\ufffd"

    utils.replaceEntityPattern = replace
    md = MarkdownIt("commonmark", {"html": False, "maxNesting": 400}).enable(["table", "strikethrough"])
    common.strike_as_github(md)

    begin_table = table.table
    others = [getattr(module("rules_block." + n), f) for n, f in (
        ("list", "list_block"), ("blockquote", "blockquote"), ("fence", "fence"), ("hr", "hr"), ("heading", "heading"))]

    def table_unless_other(state, start, end, silent):
        kept = state.parentType
        if not silent:
            state.parentType = "root"  # A rule that failed may have changed it.
        is_other = any(rule(state, start, end, True) for rule in others)
        if start + 1 < end and re.fullmatch("-+", state.getLines(start + 1, start + 2, 0, False).strip(" \t>")):
            is_other = True
        state.parentType = kept
        if is_other:
            return False
        return begin_table(state, start, end, silent)

    md.block.ruler.at("table", table_unless_other, {"alt": ["paragraph", "reference"]})
    as_text = renderer.RendererHTML.renderInlineAsText

    def with_special(self, tokens, options, env):
        for token in tokens or []:
            if token.type == "text_special":
                token.type = "text"
        return as_text(self, tokens, options, env)

    renderer.RendererHTML.renderInlineAsText = with_special
    md.normalizeLink = lambda url: mdurl.encode(url)
    md.normalizeLinkText = lambda url: url
    return md


# Kinds of output, with the number of columns for a terminal. See MarkdownWorker.
WORKS = [("html", 0), ("code", 0), ("plain", 0), ("terminal", 80), ("terminal", 9), ("hyperlinks", 80), ("hyperlinks", 7), ("attributed", 0),
         ("stream", 0), ("edits", 0)]
REPEATED = FRAGMENTS + [line + "\n" for line in LINES] + [
    "*a ", "a* ", "**a *b ", "c* d** ", "[a", "![a", "[^1]", "[^1]: a\n", "[^", "a|b\n-|-\n", "|a|b|\n", "a\n=\n", "a\n:-\n", "a  \n", "a\\\n",
    "- [ ] a\n", "[x] ", "www.", "www.a.b", "http://a.b", "https://a.b/(", "http://a.b)", "a@b.c", "a@", "@", "&amp", "<a:", "<a@", "<![CDATA[",
    "]]>", "-->", "``` c\n", "/*", "*/", "\u200b", "\u0301", "\u200d", "👩", "🇩", "\u202e", "\0", "\ufeff", "\r", "\r\n", "--", "...", "x " * 8,
]


def repetition(random):
    """Returns a name, and a function that makes a text with n repetitions."""
    def fragment():
        return random.choice(REPEATED) + (random.choice(REPEATED) if random.random() < 0.3 else "")

    a, b, c, d = (fragment() for _ in range(4))
    start = random.choice(("", "", "", "> ", "- ", "# ", "|", "[", "``` swift\n"))
    return random.choice((
        (("repeated", start, a, b), lambda n: start + (a + b) * n),
        (("three repeated", start, a, b, c), lambda n: start + (a + b + c) * n),
        (("in a row", start, a, b, c), lambda n: start + a * n + b * n + c * n),
        (("nested", start, a, b, c), lambda n: start + a * n + b + c * n),
        (("with gaps", start, a, b, c), lambda n: start + (a + c) * n + (b + c) * n),
        (("deep", start, a, b, c, d), lambda n: start + a * 120 + b * n + c + d * 120),
        (("in lines", a, b, c), lambda n: a * n + "\n" + b * n + "\n" + (c + "\n") * n),
    ))


def measured(worker, text, work, columns, options):
    """Returns the size of the output in bytes, and the CPU time in microseconds."""
    data = f"{work}\0{columns}\0{text}"
    return tuple(map(int, worker.render(data, 128 | options).split()))


def growing(worker, random, count):
    """Tries repetitions, and returns the number of those whose work grows faster than the text."""
    found = 0
    for _ in range(count):
        name, make = repetition(random)
        work, columns = random.choice(WORKS)
        options = random.choice((0x1F, 0x1F, 0x3F))
        size = max(1, len(make(101).encode()) - len(make(1).encode()))
        first = max(1, 400_000 // size)
        results = []
        for step in range(3):
            results.append(measured(worker, make(first * 4 ** step), work, columns, options))
            if step == 0:
                continue
            (old_bytes, old_time), (bytes, time) = results[-2:]
            if not (bytes > 6 * old_bytes and bytes > 200_000 or time > 8 * old_time and time > 20_000):
                break
        else:
            found += 1
            print(f"--- {name}, {first} times, {work} {columns}, options {options}: {results}", flush=True)
    return found


INDENTED = r"(\n[> ]*(?: {4}| {0,3}\t)[ \t]*)[^\sa-z]+"

# The differences that can't be removed from the oracle: for each number above, a function that writes a document without the construct.
# Both must agree on the result, so that no other difference in the document is excused.
WITHOUT = {
    # A blank line after a possible definition.
    8: lambda text: re.sub(r"(\]:[^\n]*\n)", r"\1\n", text),
    # A space for each tab in a line with the marker of a quote.
    9: lambda text: re.sub(r">[^\n]*\t[^\n]*", lambda line: line[0].replace("\t", " "), text),
    # A letter for a marker after that much indentation: for the first one of a line, and for those in quotes.
    10: lambda text: re.sub(INDENTED.replace("]*", "]*?", 1), r"\1x", re.sub(INDENTED, r"\1x", text)),
    # A letter for the spaces after a backslash at the end of a line.
    11: lambda text: re.sub(r"\\ +(?=\n)", r"\\x", text),
    # A letter for a backslash before a tab, or at the end of the line of a destination.
    12: lambda text: re.sub(r"(\]:\s*[^ \t\n]*)\\(?=\n)", r"\1x", re.sub(r"\\(?=\t)", "x", text)),
    # A space between a run of delimiters and a bracket.
    13: lambda text: re.sub(r"([*_~])\]", r"\1 ]", text),
    # A space before brackets that aren't a label because they contain a bracket.
    14: lambda text: re.sub(r"\](?=\[[^\]]*\[)", "] ", text),
    # A space between `]` and `(`.
    15: lambda text: text.replace("](", "] ("),
    # A letter before an indented line of dashes below a line that is not indented.
    16: lambda text: re.sub(r"(\n[^\s>][^\n]*\n)( {2,}|\t|> ?)(?=[-|: ]*[|:][-|: ]*\n)", r"\1\2x", text),
    # A letter before a line of dashes for one column, or below an indented line.
    19: lambda text: re.sub(
        r"(?m)^([ \t>]*)(?=\|?[ \t]*:?-+:?[ \t]*\|?[ \t]*$)(?!-+[ \t]*$)", r"\1x",
        re.sub(r"(\n[> ]*(?: {4}|\t)[^\n]*\n[ \t>]*)(?=[-|: \t]*[|:][-|: \t]*(?:\n|$))", r"\1x", text)),
    # A letter after a pipe that is alone in its line.
    20: lambda text: re.sub(r"(?m)^([ \t>]*\|)(?=[ \t]*$)", r"\1x", text),
    # One blank line for several.
    17: lambda text: re.sub(r"\n[ \t]*(?:\n[ \t]*)+\n", "\n\n", text),
    # A letter for a number before a line of dashes.
    6: lambda text: re.sub(r"(?m)^([ \t]*)\d+[.)](?=[^\n]*\n[ \t]*[-: ]*\|[-|: \t]*$)", r"\1x", text),
}


def others(text):
    """Returns the documents without one, two or three of these constructs."""
    found, known = {text: ()}, {text}
    for _ in range(3):
        for before, numbers in list(found.items()):
            for number, without in WITHOUT.items():
                other = without(before)
                if other not in known and number not in numbers:
                    known.add(other)
                    found[other] = (*numbers, number)
    return [(other, numbers) for other, numbers in found.items() if numbers]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--repetitions", type=int, default=300)
    parser.add_argument("--stop-after", type=int, default=10, help="the number of differences to print")
    arguments = parser.parse_args()
    common.fetch()
    md = oracle()
    worker = common.Worker()
    generator = random.Random(arguments.seed)

    def compare(text):
        found = common.normalized(worker.render(text, common.TABLES | common.STRIKETHROUGH))
        expected = common.normalized(md.render(text))
        return (found, expected) if found != expected else None

    def differs(text):
        text += "" if text.endswith("\n") else "\n"
        difference = compare(text)
        if not difference:
            return None
        for other, numbers in others(text):
            if not compare(other):
                excused.update(numbers)
                return None
        return difference

    excused = collections.Counter()

    def shortest(text):
        size = len(text)
        while size >= 1:
            start = 0
            while start < len(text):
                shorter = text[:start] + text[start + size:]
                if differs(shorter):
                    text = shorter
                else:
                    start += size
            size //= 2
        return text

    differences, ran = 0, 0
    for number in range(arguments.count):
        text = document(generator)
        ran += 1
        if not differs(text):
            continue
        differences += 1
        known = excused.copy()
        short = shortest(text)
        excused = known
        found, expected = compare(short + "\n") or compare(short)
        print(f"--- document {number}: {short!r}\n--- markdown-it\n{expected}\n--- NativeMark\n{found}\n", flush=True)
        if differences >= arguments.stop_after:
            break
    fast = growing(worker, generator, arguments.repetitions)
    worker.close()
    known = ", ".join(f"{count} as under {number}" for number, count in sorted(excused.items()))
    print(f"{ran} documents with seed {arguments.seed}: {differences} differ; excused: {known or 'none'}")
    print(f"{arguments.repetitions} repetitions: the work of {fast} grows faster than the text")
    sys.exit(1 if differences or fast else 0)


if __name__ == "__main__":
    main()
