"""Draws what a terminal shows, as SVG, for terminal-images.py and demo-image.py.

The files use only fonts of the system. Frames of box drawing characters are drawn as lines, because the characters of fonts leave gaps
between rows.
"""
import re, unicodedata
from html import escape

CELL, ROW, SIZE, MARGIN = 8.4, 19, 14, 14
FONT = "ui-monospace, 'SF Mono', Menlo, Consolas, 'DejaVu Sans Mono', monospace"
# Background, text, edge.
PAGES = {"light": ("#ffffff", "#1d1d1f", "#d5d5da"), "dark": ("#1c1c1e", "#e8e8ed", "#48484d")}
# The sixteen colors of a typical terminal.
ANSI = {
    "light": "#000000 #b3261e #1f7a35 #8a6100 #1f4fc4 #8e2a9e #0b7285 #6e6e73 "
             "#5b5b60 #d93025 #2b9a47 #a87900 #3367e0 #a63fb8 #12899f #8e8e93",
    "dark": "#3a3a3c #ff6b60 #5fd07a #e6c04d #7aa7ff #d98ae6 #5cc9db #d1d1d6 "
            "#8e8e93 #ff8a80 #86e39b #f5d76e #a3c2ff #e8adf2 #8adfec #ffffff",
}
TOKEN = re.compile(r"\x1b\[([0-9;]*)m|\x1b\]8;[^\x1b]*\x1b\\|([^\x1b])", re.DOTALL)
# The arms of each frame character: left, right, up, down. Those of HEAVY are thick.
ARMS = {"─": "lr", "━": "lr", "│": "ud", "┌": "rd", "┐": "ld", "└": "ru", "┘": "lu", "├": "rud", "┤": "lud", "┬": "lrd",
        "┴": "lru", "┼": "lrud"}
HEAVY = "━"
# Chromium joins consecutive spaces, although the file says xml:space="preserve". It keeps these, which don't break.
SPACE = "\u00a0"
HEAVY_STROKE, DIM = ' stroke-width="3"', ' opacity="0.65"'


class Look:
    """The current colors and attributes, as set by escape sequences."""

    def __init__(self, appearance: str):
        self.palette = ANSI[appearance].split()
        self.reset()

    def reset(self) -> None:
        self.color = self.background = None
        self.flags = frozenset()

    def read(self, parameters: str) -> None:
        """Applies the parameters of one SGR sequence (ECMA-48)."""
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


def cells(output: str, appearance: str) -> list:
    """Returns rows of characters with their looks and columns."""
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


def number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def elements(rows: list, appearance: str, left: float = MARGIN, top: float = MARGIN) -> list[str]:
    """Returns the SVG elements of rows of characters. The first row begins at `left` and `top`."""
    ink = PAGES[appearance][1]
    back, lines, texts = [], {}, []
    for row, line in enumerate(rows):
        y, column, index = top + row * ROW, 0, 0
        while index < len(line):
            look, first, text = line[index][1], column, ""
            is_frame = line[index][0] in ARMS
            while index < len(line) and line[index][1] == look and (line[index][0] in ARMS) == is_frame:
                text += line[index][0]
                column += line[index][2]
                index += 1
            (color, background, flags), x = look, left + first * CELL
            if background:
                back.append(f'<rect x="{number(x)}" y="{number(y)}" width="{number((column - first) * CELL)}" '
                            f'height="{ROW}" fill="{background}"/>')
            if is_frame:
                for place, character in enumerate(text):
                    middle, center = x + (place + 0.5) * CELL, y + ROW / 2
                    path = lines.setdefault((color or ink, character in HEAVY, 2 in flags), [])
                    for arm, (dx, dy) in {"l": (-CELL / 2, 0), "r": (CELL / 2, 0), "u": (0, -ROW / 2), "d": (0, ROW / 2)}.items():
                        if arm in ARMS[character]:
                            path.append((middle, center, middle + dx, center + dy))
            elif text.strip() or 4 in flags:
                style = "".join((' font-weight="bold"' if 1 in flags else "", ' font-style="italic"' if 3 in flags else "",
                                 DIM if 2 in flags else ""))
                decoration = " ".join(name for flag, name in ((4, "underline"), (9, "line-through")) if flag in flags)
                style += f' text-decoration="{decoration}"' if decoration else ""
                style += f' fill="{color}"' if color else ""
                texts.append(f'<text x="{number(x)}" y="{number(y + 13.6)}" textLength="{number((column - first) * CELL)}"'
                             f"{style}>{escape(text.replace(' ', SPACE))}</text>")
    paths = [f'<path d="{"".join(f"M{number(a)} {number(b)}L{number(c)} {number(d)}" for a, b, c, d in joined(path))}" '
             f'stroke="{color}" fill="none"{HEAVY_STROKE if heavy else ""}{DIM if dim else ""}/>'
             for (color, heavy, dim), path in lines.items()]
    return [*back, *paths, *texts]


def joined(lines: list) -> list:
    """Joins strokes that touch and have the same direction."""
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


def document(width: float, height: float, appearance: str, parts: list[str]) -> str:
    """Returns an SVG file of these elements."""
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{number(width)}" height="{number(height)}" '
        f'viewBox="0 0 {number(width)} {number(height)}" font-family="{FONT}" font-size="{SIZE}" '
        f'fill="{PAGES[appearance][1]}" xml:space="preserve">', *parts, "</svg>\n"])


def page(width: float, height: float, appearance: str, top: float = 0) -> str:
    """Returns the rectangle behind the text. With it the image looks the same on a light page and on a dark page."""
    background, _, edge = PAGES[appearance]
    return (f'<rect x="0.5" y="{number(top + 0.5)}" width="{number(width - 1)}" height="{number(height - 1)}" rx="8" '
            f'fill="{background}" stroke="{edge}"/>')


def drawing(output: str, appearance: str, columns: int) -> str:
    """Draws text with escape sequences for colors and hyperlinks, as a terminal of that width shows it."""
    rows = cells(output, appearance)
    width, height = columns * CELL + 2 * MARGIN, len(rows) * ROW + 2 * MARGIN
    return document(width, height, appearance, [page(width, height, appearance), *elements(rows, appearance)])
