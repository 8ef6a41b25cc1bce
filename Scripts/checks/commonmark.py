#!/usr/bin/env python3
"""Proves that NativeMark follows the 652 examples of CommonMark 0.31.2, and markdown-it-py for tables, strikethrough and task items.

    swift build --product MarkdownWorker
    Scripts/checks/commonmark.py

580 examples must give the HTML of the specification. The 72 others contain raw HTML, which NativeMark treats as plain text: they must give
the output of markdown-it-py 4.3.0 with `html: False`. So must fixtures with one tilde, or with more than two; for them, the strikethrough
rule of markdown-it-py is replaced by one that follows GitHub. Examples and oracle come from one sdist, which is fetched once and has a
pinned hash. Exits with 1 if an output differs, or if not all examples ran.
"""
import argparse, hashlib, json, re, struct, subprocess, sys, tarfile

from builds import ROOT, program

CACHE = ROOT / ".build-markdown"
FILES = {
    "markdown_it_py-4.3.0.tar.gz": (
        ["--no-binary", ":all:", "markdown-it-py==4.3.0"],
        "91a58fa5b72c71a40cf7177250fd767480d7a2bb3ac426ccfb76fb90305fdaaa"),
    "mdurl-0.1.2-py3-none-any.whl": (
        ["--only-binary", ":all:", "mdurl==0.1.2"], "84008a41e51615a49fc9966191ff91509e3c40b939176e643fd50a5c2196b8f8"),
}
SDIST = CACHE / "markdown_it_py-4.3.0"

# Options of the worker.
TABLES, STRIKETHROUGH, TASKS, AUTOLINKS, FOOTNOTES, SMART = (1 << bit for bit in range(6))

# Examples with raw HTML outside of the sections about it.
RAW_HTML = {21, 31, 201, 308, 309, 344, 475, 476, 477, 491, 494, 524, 536, 642, 643}
RAW_HTML_SECTIONS = {"HTML blocks", "Raw HTML"}

# One tilde, or more than two.
TILDES = r"(?<!~)(?:~|~{3,})(?!~)"

# Here NativeMark follows cmark-gfm instead of markdown-it: a line that begins a list or a heading isn't a table's header.
DEVIATIONS = {
    "tables line 145": "<ul>\n<li>foo|foo\n---|---\nbar|bar</li>\n</ul>",
    "tables line 393": "<h1>| 1 | 2</h1>\n<p>--|--|--\nx | <code>\\</code> | <code>x</code></p>",
    "tables line 417": "<h1>| 1 | 2</h1>\n<p>--|--|--\nx | `` | <code>x</code></p>",
}


def fetch():
    """Fetches the oracle with its data, and makes it importable."""
    CACHE.mkdir(exist_ok=True)
    for name, (arguments, digest) in FILES.items():
        path = CACHE / name
        if not path.exists():
            subprocess.run(
                [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(CACHE), *arguments],
                check=True)
        found = hashlib.sha256(path.read_bytes()).hexdigest()
        if found != digest:
            path.unlink()
            sys.exit(f"{name}: the hash is {found}, and must be {digest}")
    if not SDIST.exists():
        with tarfile.open(CACHE / "markdown_it_py-4.3.0.tar.gz") as archive:
            archive.extractall(CACHE, filter="data") if hasattr(tarfile, "data_filter") else archive.extractall(CACHE)
    sys.path[:0] = [str(SDIST), str(CACHE / "mdurl-0.1.2-py3-none-any.whl")]


class Worker:
    """A process that renders with NativeMark."""

    def __init__(self):
        self.process = subprocess.Popen([program("MarkdownWorker")], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def render(self, text, options=0):
        data = text.encode()
        self.process.stdin.write(bytes([options]) + struct.pack("<I", len(data)) + data)
        self.process.stdin.flush()
        header = self.process.stdout.read(4)
        if len(header) < 4:
            sys.exit(f"the worker died while it rendered this document: {text!r}")
        return self.process.stdout.read(struct.unpack("<I", header)[0]).decode()

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def normalized(html):
    """Returns the HTML without insignificant differences: HTML or XHTML for empty elements, a line feed in an empty quote or before code."""
    html = re.sub(r"\n?<pre>", "\n<pre>", html)
    return html.replace(" />", ">").replace("<blockquote>\n</blockquote>", "<blockquote></blockquote>").rstrip()


def run(title, cases, worker, expected_count):
    """Runs cases of (name, markdown, options, expected HTML), and returns the number of failures."""
    failures = 0
    for name, markdown, options, expected in cases:
        found = worker.render(markdown, options)
        expected = DEVIATIONS.get(f"{title} {name}", expected)
        if normalized(found) != normalized(expected):
            failures += 1
            print(f"--- {title} {name}\n{markdown}\n--- expected\n{expected}\n--- found\n{found}")
    print(f"{title}: {len(cases)} ran, {failures} failed")
    if len(cases) != expected_count:
        print(f"{title}: {expected_count} should have run")
        failures += 1
    return failures


def strike_as_github(md):
    """Replaces markdown-it's strikethrough: runs of one or two tildes, and an opener matches a closer of the same length."""
    from markdown_it.rules_inline.state_inline import Delimiter

    def tokenize(state, silent):
        if silent or state.src[state.pos] != "~":
            return False
        run = state.scanDelims(state.pos, True)
        state.push("text", "", 0).content = "~" * run.length
        if run.length <= 2:
            # Markers that don't occur in the text, and a length that the rule of three ignores.
            state.delimiters.append(Delimiter(marker=-run.length, length=0, token=len(state.tokens) - 1, end=-1,
                                              open=run.can_open, close=run.can_close))
        state.pos += run.length
        return True

    def strike(state):
        for delimiters in (state.delimiters, *(meta["delimiters"] for meta in state.tokens_meta if meta and "delimiters" in meta)):
            for opener in delimiters:
                if opener.marker in (-1, -2) and opener.end >= 0:
                    for index, name, nesting in ((opener.token, "s_open", 1), (delimiters[opener.end].token, "s_close", -1)):
                        token = state.tokens[index]
                        token.type, token.tag, token.nesting, token.content = name, "s", nesting, ""

    md.inline.ruler.at("strikethrough", tokenize)
    md.inline.ruler2.at("strikethrough", strike)


def main():
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    fetch()
    from markdown_it import MarkdownIt
    from markdown_it.utils import read_fixture_file

    oracle = MarkdownIt("commonmark", {"html": False})
    as_they_stand, with_raw_html = [], []
    for example in json.loads((SDIST / "tests/test_cmark_spec/commonmark.json").read_text()):
        number, markdown = example["example"], example["markdown"]
        without_html = oracle.render(markdown)
        # Some examples in the sections about raw HTML contain no tag.
        differs = normalized(without_html) != normalized(example["html"])
        if number in RAW_HTML or example["section"] in RAW_HTML_SECTIONS and differs:
            with_raw_html.append((number, markdown, 0, without_html))
        else:
            as_they_stand.append((number, markdown, 0, example["html"]))

    def fixtures(name, options):
        path = SDIST / "tests/test_port/fixtures" / name
        return [(f"line {line}", text, options, expected) for line, _, text, expected in read_fixture_file(path)]

    worker = Worker()
    failures = run("CommonMark", as_they_stand, worker, 580)
    failures += run("CommonMark with raw HTML", with_raw_html, worker, 72)
    failures += run("tables", fixtures("tables.md", TABLES), worker, 42)
    github = MarkdownIt("commonmark", {"html": False}).enable("strikethrough")
    strike_as_github(github)
    struck = fixtures("strikethrough.md", STRIKETHROUGH)
    by_length = [(name, text, options, github.render(text)) for name, text, options, _ in struck if re.search(TILDES, text)]
    failures += run("strikethrough", [case for case in struck if not re.search(TILDES, case[1])], worker, 9)
    failures += run("strikethrough with other runs than two tildes", by_length, worker, 6)
    failures += run("task items", fixtures("tasklists.md", TASKS | TABLES | STRIKETHROUGH), worker, 20)
    worker.close()
    print(f"CommonMark: {len(as_they_stand) + len(with_raw_html)} examples in all")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
