#!/usr/bin/env python3
"""Draws the table of a full run in Benchmarks/README.md, one image for each group of rows.

    Scripts/generate/benchmark-images.py            # draws Benchmarks/images/*.svg
    Scripts/generate/benchmark-images.py --check    # exits with 1 if one of them differs from the table

A bar is the median of the ratio on a logarithmic axis. Right is always better for Sluice: rates (`…/s`) are drawn as in the table,
everything else (times, memory) inverted. All numbers come from the table, except the advantage (“6× better”), which is computed with the
precision of the ratio.
"""
import argparse, math, pathlib, re, sys
from html import escape
from typing import NamedTuple

ROOT = pathlib.Path(__file__).resolve().parents[2]
TABLE = ROOT / "Benchmarks/README.md"
IMAGES = ROOT / "Benchmarks/images"

WIDTH, MARGIN = 900, 16
# The ends of the axis. The peers are to the left of it, the numbers to the right.
LEFT, RIGHT = 292, 644
# The end of the column with the advantages.
ADVANTAGE = 740
TOP, HEADING, ROW, FOOT = 84, 24, 21, 66
PAGE, EDGE, INK, SOFT, GRID = "#ffffff", "#d5d5da", "#1d1d1f", "#5b5b60", "#e4e4e9"
BETTER, WORSE, MISSED = "#2a9d55", "#d9642b", "#c1121f"
BETTER_TEXT, WORSE_TEXT = "#1b7a3e", "#b04a15"
MISSES = f'<tspan dx="8" font-size="11" font-weight="600" fill="{MISSED}">limit missed</tspan>'
PALE = ' fill-opacity="0.45"'
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, Helvetica, Arial, 'DejaVu Sans', sans-serif"


class Row(NamedTuple):
    name: str
    peer: str
    unit: str
    ours: str
    peers: str
    # As advantages: above 1 is better for Sluice.
    median: float
    low: float
    high: float
    label: str
    limit: float | None
    is_missed: bool


def value(text: str) -> float:
    return float(text.replace(",", ""))


def row(name: str, cells: dict) -> Row:
    """Returns a row of the table, inverted if necessary, so that above 1 is better."""
    def turned(ratio: float) -> float:
        return ratio if cells["unit"].endswith("/s") else 1 / ratio

    ratio = cells["ratio"]
    low, high = sorted(turned(value(end)) for end in cells["min–max"].split("–"))
    median = turned(value(ratio))
    label = f"{advantage(ratio)}× {'better' if median >= 1 else 'worse'}"
    return Row(name, cells["against"], cells["unit"], cells["ours"], cells["peer's"], median, low, high, label,
               limit(cells, turned), cells["verdict"] == "missed")


def advantage(ratio: str) -> str:
    """Returns a ratio as a number above 1, with the table's precision: 0.98 is 1.02, 0.16 is 6, and 0.003 is 300."""
    if value(ratio) >= 1:
        return ratio
    inverse, step = 1 / value(ratio), 10 ** -len(ratio.partition(".")[2])
    places = round(-math.log10(step * inverse ** 2))
    return f"{round(inverse, places):.{max(0, places)}f}"


def limit(cells: dict, turned) -> float | None:
    """Returns the figure's place on the axis, or None if the row has no figure.

    A figure that isn't a ratio (`< 1,000 ns`, `≤ +15 µs`) is divided by our median, and the bar's end is scaled by the result. So the tick
    is on the side of the bar's end that agrees with the verdict.
    """
    if not cells["figure"]:
        return None
    if ratio := re.fullmatch(r"[≤≥] ([\d.,]+) ×", cells["figure"]):
        return turned(value(ratio[1]))
    absolute = re.fullmatch(r"(?:<|≤ (\+))\s*([\d.,]+) .+", cells["figure"])
    if not absolute:
        raise SystemExit(f"The figure “{cells['figure']}” of {cells['row']} has a form that this script doesn't know.")
    most = value(absolute[2]) + (value(cells["peer's"]) if absolute[1] else 0)
    return turned(value(cells["ratio"]) * most / value(cells["ours"]))


def groups(text: str) -> dict[str, list[Row]]:
    """Returns the rows of the table by group, both in the order of the table."""
    lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in re.findall(r"^\|.*\|$", text, re.MULTILINE)]
    start = next((index for index, line in enumerate(lines) if line[:3] == ["row", "against", "unit"]), None)
    if start is None:
        raise SystemExit(f"There is no table `| row | against | unit | …` in {TABLE.relative_to(ROOT)}.")
    result = {}
    for line in lines[start + 2:]:
        cells = dict(zip(lines[start], line, strict=True))
        group, _, name = cells["row"].partition("/")
        if cells["ratio"]:
            result.setdefault(group, []).append(row(name, cells))
    return result


def span(rows: list[Row]) -> float:
    """Returns how far the axis extends on both sides of 1: far enough for all bars, spreads and limits."""
    ends = [end for row in rows for end in (row.low, row.high, row.median, row.limit or 1)]
    return max(2, *(max(end, 1 / end) for end in ends))


def ticks(most: float) -> list[int]:
    """Returns round numbers up to the end of the axis, at most five for each side."""
    steps = [step * 10 ** power for power in range(4) for step in (1, 2, 5)][1:]
    found = [step for step in steps if step <= most * 1.001]
    return found if len(found) <= 5 else [step for step in found if str(step).startswith("1")]


def draw(group: str, rows: list[Row]) -> str:
    most, middle = span(rows), (LEFT + RIGHT) / 2
    scale = (RIGHT - LEFT) / 2 / math.log(most)
    # Rows with the same name are under one heading.
    names = list(dict.fromkeys((row.name, row.unit) for row in rows))
    height = TOP + len(names) * HEADING + len(rows) * ROW + FOOT
    bottom = height - FOOT + 6

    def x(advantage: float) -> float:
        return middle + math.log(advantage) * scale

    def text(at: float, y: float, words: str, size: float = 12, color: str = INK, anchor: str = "start", more: str = "",
             after: str = "") -> str:
        return (f'<text x="{at:.1f}" y="{y:.1f}" font-size="{size:g}" fill="{color}" text-anchor="{anchor}"{more}>'
                f"{escape(words)}{after}</text>")

    def line(x1: float, y1: float, x2: float, y2: float, color: str, width: float = 1) -> str:
        return (f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{color}" stroke-width="{width:g}"/>')

    bold = ' font-weight="600"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}" '
        f'font-family="{FONT}">',
        f"<title>Benchmarks of {group}: Sluice against its peers</title>",
        f'<rect x="0.5" y="0.5" width="{WIDTH - 1}" height="{height - 1}" rx="8" fill="{PAGE}" stroke="{EDGE}"/>',
        text(MARGIN, 31, group, 18, more=bold),
        text(middle - 14, 46, "← the peer is better", 12, WORSE_TEXT, "end", bold),
        text(middle + 14, 46, "Sluice is better →", 12, BETTER_TEXT, more=bold),
        text(MARGIN + 6, 64, "what is measured, and the peers", 12, SOFT),
        text(ADVANTAGE, 64, "Sluice is", 12, SOFT, "end"),
        text(WIDTH - MARGIN - 6, 64, "Sluice : peer", 12, SOFT, "end"),
        text(middle, 64, "1", 11, SOFT, "middle"),
    ]
    for tick in ticks(most):
        for advantage in (tick, 1 / tick):
            parts += [line(x(advantage), TOP - 14, x(advantage), bottom, GRID),
                      text(x(advantage), 64, f"{tick}×", 11, SOFT, "middle")]
    parts.append(line(middle, TOP - 14, middle, bottom, SOFT))

    y = TOP
    for name, unit in names:
        # The strip covers the grid, because a long name crosses the axis.
        parts += [f'<rect x="{MARGIN}" y="{y}" width="{WIDTH - 2 * MARGIN}" height="{HEADING - 3}" fill="#f4f4f7"/>',
                  text(MARGIN + 6, y + 15, name, 12.5, more=bold), text(WIDTH - MARGIN - 6, y + 15, unit, 11.5, SOFT, "end")]
        y += HEADING
        for row in (row for row in rows if (row.name, row.unit) == (name, unit)):
            parts += bar(row, y + ROW / 2 - 2, x, text, line)
            y += ROW
    y = bottom + 20
    parts += [
        text(MARGIN, y, "Bar: the median ratio, on a logarithmic axis, pale if the spread includes 1.  Thin line: the spread, min–max.",
             11.5, SOFT),
        text(MARGIN, y + 18, "Tick: the limit that the design sets; the bar should end to the right of it.", 11.5, SOFT),
        text(WIDTH - MARGIN, y + 18, "Benchmarks/README.md has the table.", 11.5, SOFT, "end")]
    return "\n".join(parts + ["</svg>", ""])


def bar(row: Row, y: float, x, text, line) -> list[str]:
    """Returns the elements of one row whose middle is at `y`."""
    color, words = (BETTER, BETTER_TEXT) if row.median >= 1 else (WORSE, WORSE_TEXT)
    start, end = sorted((x(1), x(row.median)))
    is_pale = row.low < 1 < row.high
    parts = [
        text(MARGIN + 6, y + 4, row.peer, 12, after=MISSES if row.is_missed else ""),
        f'<rect x="{start:.1f}" y="{y - 5.5:.1f}" width="{max(end - start, 1):.1f}" height="11" fill="{color}"'
        f'{PALE if is_pale else ""}/>',
        line(x(row.low), y, x(row.high), y, INK, 1.2),
        text(ADVANTAGE, y + 4, row.label, 12, SOFT if is_pale else words, "end"),
        text(WIDTH - MARGIN - 6, y + 4, f"{row.ours} : {row.peers}", 12, anchor="end")]
    if row.limit:
        parts.append(line(x(row.limit), y - 8.5, x(row.limit), y + 8.5, MISSED if row.is_missed else INK, 2.5))
    return parts


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing, and compare with the existing images")
    options = parser.parse_args()
    drawn = {IMAGES / f"{group}.svg": draw(group, rows) for group, rows in groups(TABLE.read_text()).items()}
    others = set(IMAGES.glob("*.svg")) - set(drawn)
    if options.check:
        stale = [path for path, image in drawn.items() if not path.exists() or path.read_text() != image]
        for path in sorted([*stale, *others]):
            print(f"{path.relative_to(ROOT)} differs from the table: run Scripts/generate/benchmark-images.py")
        if stale or others:
            return 1
    else:
        IMAGES.mkdir(exist_ok=True)
        for path in others:
            path.unlink()
        for path, image in drawn.items():
            path.write_text(image)
    print(f"{len(drawn)} images match the table")
    return 0


if __name__ == "__main__":
    sys.exit(main())
