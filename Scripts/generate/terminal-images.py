#!/usr/bin/env python3
"""Draws the examples in NativeMark's articles as a terminal shows them, as SVG.

    swift build --product MarkdownWorker
    Scripts/generate/terminal-images.py            # draws Sources/NativeMark/NativeMark.docc/Resources/*.svg
    Scripts/generate/terminal-images.py --check    # exits with 1 if one of them is out of date

The articles define the images. A block of `markdown` is the document for the images after it. A block of `json` is added to the style
sheet as `StyleSheet.setting` adds rules. An image `![…](name.svg)` shows the document with the style sheet, on a dark page if its name ends
in `-dark`.
"""
import argparse, json, pathlib, re, sys

from terminal_drawing import drawing

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "Scripts/checks"))
from commonmark import Worker

CATALOG = ROOT / "Sources/NativeMark/NativeMark.docc"
COLUMNS = 46


def examples(article: str):
    """Yields the images of an article: name, style sheet, document."""
    document, sheet = "", {}
    for kind, text, image in re.findall(r"^```(json|markdown)\n(.*?)^```$|^!\[[^\]]*\]\(([\w-]+\.svg)\)$", article,
                                          re.DOTALL | re.MULTILINE):
        if kind == "markdown":
            document = text
        elif kind == "json":
            merge(sheet, json.loads(text))
        else:
            yield image, sheet, document


def merge(sheet: dict, rules: dict) -> None:
    """Adds rules. A style replaces one of the same selector and name."""
    for part, value in rules.items():
        if isinstance(value, dict):
            target = sheet.setdefault(part, {})
            for selector, styles in value.items():
                target[selector] = {**target.get(selector, {}), **styles} if part != "colors" else styles
        else:
            sheet[part] = value


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing, and compare with the existing images")
    options = parser.parse_args()
    worker = Worker()
    stale = []
    for article in sorted(CATALOG.glob("*.md")):
        for name, sheet, document in examples(article.read_text()):
            appearance = "dark" if name.endswith("-dark.svg") else "light"
            # 64: for a terminal, 128: with hyperlinks; 31: all extensions except smart punctuation, the default.
            options_byte = 64 + 31 + (0 if name.startswith("security") else 128)
            text = "\0".join([str(COLUMNS), appearance, json.dumps(sheet), document])
            drawn, path = drawing(worker.render(text, options_byte), appearance, COLUMNS), CATALOG / "Resources" / name
            if options.check and (not path.exists() or path.read_text() != drawn):
                stale.append(f"{path.relative_to(ROOT)} differs from the example in {article.name}: run Scripts/generate/terminal-images.py")
            elif not options.check:
                path.parent.mkdir(exist_ok=True)
                path.write_text(drawn)
    worker.close()
    print("\n".join(stale) if stale else "every image matches its example")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
