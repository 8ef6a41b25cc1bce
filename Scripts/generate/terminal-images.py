#!/usr/bin/env python3
"""Draws what a terminal shows of the examples in NativeMark's articles, as SVG.

    swift build --product MarkdownWorker
    Scripts/generate/terminal-images.py            # draws Sources/NativeMark/NativeMark.docc/Resources/*.svg
    Scripts/generate/terminal-images.py --check    # ends with 1 if one of them is not what is rendered now

The articles say what is drawn: a block of `markdown` is the document from there on, a block of `json` is added to the style sheet
as `StyleSheet.setting` adds rules, and a picture `![…](name.svg)` shows the two, on dark if its name ends in `-dark`. So a
picture is what its example gives. The files name no font that a reader would have to fetch; frames of box drawing characters
are drawn as lines, because those of fonts leave gaps between rows.
"""
import argparse, json, pathlib, re, sys, unicodedata
from html import escape

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "Scripts/checks"))
from commonmark import Worker

CATALOG = ROOT / "Sources/NativeMark/NativeMark.docc"

COLUMNS = 46
CELL, ROW, SIZE, MARGIN = 8.4, 19, 14, 14
FONT = "ui-monospace, 'SF Mono', Menlo, Consolas, 'DejaVu Sans Mono', monospace"
PAGES = {"light": ("#ffffff", "#1d1d1f", "#d5d5da"), "dark": ("#1c1c1e", "#e8e8ed", "#48484d")}
# The sixteen as a terminal may have them; the owner of another one chose others.
ANSI = {
    "light": "#000000 #b3261e #1f7a35 #8a6100 #1f4fc4 #8e2a9e #0b7285 #6e6e73 "
             "#5b5b60 #d93025 #2b9a47 #a87900 #3367e0 #a63fb8 #12899f #8e8e93",
    "dark": "#3a3a3c #ff6b60 #5fd07a #e6c04d #7aa7ff #d98ae6 #5cc9db #d1d1d6 "
            "#8e8e93 #ff8a80 #86e39b #f5d76e #a3c2ff #e8adf2 #8adfec #ffffff",
}
TOKEN = re.compile(r"\x1b\[([0-9;]*)m|\x1b\]8;[^\x1b]*\x1b\\|([^\x1b])", re.DOTALL)
# Which arms a frame's character has: left, right, up, down.
ARMS = {"─": "lr", "│": "ud", "┌": "rd", "┐": "ld", "└": "ru", "┘": "lu", "├": "rud", "┤": "lud", "┬": "lrd", "┴": "lru",
        "┼": "lrud"}


def examples(article: str):
    """The pictures of an article: name, style sheet, document."""
    document, sheet = "", {}
    for kind, text, picture in re.findall(r"^```(json|markdown)\n(.*?)^```$|^!\[[^\]]*\]\(([\w-]+\.svg)\)$", article,
                                          re.DOTALL | re.MULTILINE):
        if kind == "markdown":
            document = text
        elif kind == "json":
            merge(sheet, json.loads(text))
        else:
            yield picture, sheet, document


def merge(sheet: dict, rules: dict) -> None:
    """Adds rules; a style replaces one of the same selector and name, whatever it holds."""
    for part, value in rules.items():
        if isinstance(value, dict):
            target = sheet.setdefault(part, {})
            for selector, styles in value.items():
                target[selector] = {**target.get(selector, {}), **styles} if part != "colors" else styles
        else:
            sheet[part] = value


class Look:
    """What the last escape sequences said."""

    def __init__(self, appearance):
        self.palette = ANSI[appearance].split()
        self.reset()

    def reset(self):
        self.color = self.background = None
        self.flags = frozenset()

    def read(self, parameters: str):
        numbers = [int(number or 0) for number in parameters.split(";")]
        while numbers:
            number = numbers.pop(0)
            if number == 0:
                self.reset()
            elif number in (1, 2, 3, 4, 9):
                self.flags |= {number}
            elif number in (38, 48):
                assert numbers.pop(0) == 2
                color = "#" + "".join(f"{numbers.pop(0):02x}" for _ in range(3))
                self.color, self.background = (color, self.background) if number == 38 else (self.color, color)
            else:
                for first, offset in ((30, 0), (90, 8)):
                    if first <= number < first + 8:
                        self.color = self.palette[number - first + offset]
                    elif first + 10 <= number < first + 18:
                        self.background = self.palette[number - first - 10 + offset]

    def key(self):
        return self.color, self.background, self.flags


def cells(output: str, appearance: str):
    """Rows of characters with their looks and columns."""
    look, rows = Look(appearance), [[]]
    for match in TOKEN.finditer(output):
        if match[1] is not None:
            look.read(match[1])
        elif match[2] == "\n":
            rows.append([])
        elif match[2] and unicodedata.combining(match[2]):
            character, *rest = rows[-1][-1]
            rows[-1][-1] = (character + match[2], *rest)
        elif match[2]:
            rows[-1].append((match[2], look.key(), 2 if unicodedata.east_asian_width(match[2]) in "WF" else 1))
    return rows


def picture(output: str, appearance: str) -> str:
    page, ink, edge = PAGES[appearance]
    rows = cells(output, appearance)
    width, height = COLUMNS * CELL + 2 * MARGIN, len(rows) * ROW + 2 * MARGIN
    number = lambda value: f"{value:.1f}".removesuffix(".0")
    back, lines, texts = [], {}, []
    for row, line in enumerate(rows):
        top, column, index = MARGIN + row * ROW, 0, 0
        while index < len(line):
            look, first, text = line[index][1], column, ""
            is_frame = line[index][0] in ARMS
            while index < len(line) and line[index][1] == look and (line[index][0] in ARMS) == is_frame:
                text += line[index][0]
                column += line[index][2]
                index += 1
            (color, background, flags), left = look, MARGIN + first * CELL
            if background:
                back.append(f'<rect x="{number(left)}" y="{number(top)}" width="{number((column - first) * CELL)}" '
                            f'height="{ROW}" fill="{background}"/>')
            if is_frame:
                for place, character in enumerate(text):
                    x, y, arms = left + (place + 0.5) * CELL, top + ROW / 2, ARMS[character]
                    path = lines.setdefault(color or ink, [])
                    for arm, (dx, dy) in {"l": (-CELL / 2, 0), "r": (CELL / 2, 0), "u": (0, -ROW / 2), "d": (0, ROW / 2)}.items():
                        if arm in arms:
                            path.append((x, y, x + dx, y + dy))
            elif text.strip() or 4 in flags:
                style = "".join((' font-weight="bold"' if 1 in flags else "", ' font-style="italic"' if 3 in flags else "",
                                 ' opacity="0.65"' if 2 in flags else ""))
                decoration = " ".join(name for flag, name in ((4, "underline"), (9, "line-through")) if flag in flags)
                style += f' text-decoration="{decoration}"' if decoration else ""
                style += f' fill="{color}"' if color else ""
                texts.append(f'<text x="{number(left)}" y="{number(top + 13.6)}" textLength="{number((column - first) * CELL)}"'
                             f"{style}>{escape(text)}</text>")
    paths = [f'<path d="{"".join(f"M{number(a)} {number(b)}L{number(c)} {number(d)}" for a, b, c, d in joined(path))}" '
             f'stroke="{color}" fill="none"/>' for color, path in lines.items()]
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{number(width)}" height="{number(height)}" '
        f'viewBox="0 0 {number(width)} {number(height)}" font-family="{FONT}" font-size="{SIZE}" fill="{ink}" xml:space="preserve">',
        f'<rect x="0.5" y="0.5" width="{number(width - 1)}" height="{number(height - 1)}" rx="8" fill="{page}" stroke="{edge}"/>',
        *back, *paths, *texts, "</svg>\n"])


def joined(lines):
    """Strokes without breaks: those that touch in one direction are one."""
    result = []
    for along in (0, 1):
        strokes = sorted((*sorted((line[along], line[along + 2])), line[1 - along])
                         for line in lines if line[along] != line[along + 2])
        strokes.sort(key=lambda stroke: (stroke[2], stroke[0]))
        merged = []
        for start, end, place in strokes:
            if merged and merged[-1][2] == place and start <= merged[-1][1] + 0.01:
                merged[-1][1] = max(merged[-1][1], end)
            else:
                merged.append([start, end, place])
        result += [(a, p, b, p) if along == 0 else (p, a, p, b) for a, b, p in merged]
    return result


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing, and compare with what is there")
    options = parser.parse_args()
    worker = Worker()
    stale = []
    for article in sorted(CATALOG.glob("*.md")):
        for name, sheet, document in examples(article.read_text()):
            appearance = "dark" if name.endswith("-dark.svg") else "light"
            # 64: for a terminal, 128: with hyperlinks; the others are all extensions but smart punctuation, as by default.
            options_byte = 64 + 31 + (0 if name.startswith("security") else 128)
            text = "\0".join([str(COLUMNS), appearance, json.dumps(sheet), document])
            drawn, path = picture(worker.render(text, options_byte), appearance), CATALOG / "Resources" / name
            if options.check and (not path.exists() or path.read_text() != drawn):
                stale.append(f"{path.relative_to(ROOT)} is not what {article.name} gives: run Scripts/generate/terminal-images.py")
            elif not options.check:
                path.parent.mkdir(exist_ok=True)
                path.write_text(drawn)
    worker.close()
    print("\n".join(stale) if stale else "every image is what its example gives")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
