#!/usr/bin/env python3
"""Draws the PNG images of NativeMark's articles with `sluice show --to png`. With --check, proves that they are up to date.

    swift build --traits PostgreSQL,Cairo,GdkPixbuf
    Scripts/generate/drawn-images.py                  # draws Sources/NativeMark/NativeMark.docc/Resources/*.png
    Scripts/generate/drawn-images.py --check          # exits with 1 if one of them is out of date

The articles define their images, as article_examples.py describes. Only Debian's DejaVu fonts are used. --check compares pixels with a
tolerance, because versions of Pango and FreeType differ a little.
"""
import argparse, json, os, pathlib, struct, subprocess, sys, tempfile, zlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path += [str(ROOT / "Scripts/checks"), str(ROOT / "Scripts/generate")]
import builds
from article_examples import CATALOG, examples

WIDTH, MARGIN, SCALE = 400, "12", "2"
# The part of the pixels that may differ clearly.
TOLERANCE = 0.01
FONTS = """<?xml version="1.0"?>
<fontconfig>
  <dir>/usr/share/fonts/truetype/dejavu</dir>
  <dir>/usr/share/fonts/dejavu-sans-fonts</dir>
  <dir>/usr/share/fonts/dejavu-sans-mono-fonts</dir>
  <cachedir prefix="xdg">fontconfig</cachedir>
  <alias><family>Sans</family><prefer><family>DejaVu Sans</family></prefer></alias>
  <alias><family>Serif</family><prefer><family>DejaVu Serif</family></prefer></alias>
  <alias><family>Monospace</family><prefer><family>DejaVu Sans Mono</family></prefer></alias>
</fontconfig>
"""


def draw(sheet: dict, document: str, appearance: str) -> bytes:
    with tempfile.TemporaryDirectory() as place:
        directory = pathlib.Path(place)
        (directory / "fonts.conf").write_text(FONTS)
        (directory / "sheet.json").write_text(json.dumps(sheet))
        (directory / "document.md").write_text(document)
        for image in CATALOG.glob("Resources/sample-*.png"):
            (directory / image.name).write_bytes(image.read_bytes())
        drawn = directory / "drawn.png"
        subprocess.run([builds.program("sluice"), "show", "--to", "png", "-o", drawn, "--width", str(WIDTH), "--margin", MARGIN, "--scale",
                        SCALE, "--style", directory / "sheet.json", "--background", appearance, directory / "document.md"], check=True,
                       env={**os.environ, "FONTCONFIG_FILE": str(directory / "fonts.conf")})
        return drawn.read_bytes()


def pixels(png: bytes) -> tuple[int, int, bytearray]:
    """Decodes a PNG with 8 bits for each of red, green and blue (PNG specification, section 9)."""
    width, height, depth, kind = struct.unpack(">IIBB", png[16:26])
    assert (depth, kind) == (8, 2)
    data, at = b"", 8
    while at < len(png):
        length, name = struct.unpack(">I4s", png[at:at + 8])
        data += png[at + 8:at + 8 + length] if name == b"IDAT" else b""
        at += length + 12
    data, stride, result = zlib.decompress(data), width * 3, bytearray()
    above = bytearray(stride)
    for start in range(0, len(data), stride + 1):
        line = bytearray(data[start + 1:start + 1 + stride])
        for index in range(stride if data[start] else 0):
            left, up, corner = (line[index - 3], above[index], above[index - 3]) if index >= 3 else (0, above[index], 0)
            match data[start]:
                case 1: guess = left
                case 2: guess = up
                case 3: guess = (left + up) // 2
                case 4: guess = min((abs(up - corner), 0, left), (abs(left - corner), 1, up), (abs(left + up - 2 * corner), 2, corner))[2]
            line[index] = (line[index] + guess) & 255
        result += line
        above = line
    return width, height, result


def differs(old: bytes, new: bytes) -> bool:
    if old == new:
        return False
    (width, height, one), (other_width, other_height, two) = pixels(old), pixels(new)
    if width != other_width or abs(height - other_height) > 4:
        return True
    return sum(abs(a - b) > 64 for a, b in zip(one, two)) > TOLERANCE * len(one)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing, and compare with the existing images")
    options = parser.parse_args()
    stale = []
    for article in sorted(CATALOG.glob("*.md")):
        for name, sheet, document in examples(article.read_text(), "png"):
            drawn, path = draw(sheet, document, "dark" if name.endswith("-dark.png") else "light"), CATALOG / "Resources" / name
            if not options.check:
                path.write_bytes(drawn)
            elif not path.exists() or differs(path.read_bytes(), drawn):
                stale.append(f"{path.relative_to(ROOT)} differs from the example in {article.name}: run Scripts/generate/drawn-images.py")
    print("\n".join(stale) if stale else "every drawn image matches its example")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
