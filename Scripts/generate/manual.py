#!/usr/bin/env python3
"""Writes the man page docs/sluice.1 from the help of a debug build (`swift build --product sluice`), with swift-argument-parser's generator.

    Scripts/generate/manual.py             # writes the page
    Scripts/generate/manual.py --check     # proves that the page is what the help says
"""
import argparse, difflib, pathlib, re, subprocess, sys
sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "checks"))
from builds import ROOT, SCRATCH, program

PAGE = ROOT / "docs/sluice.1"


def generator() -> pathlib.Path:
    """Builds the generator from the sources that SwiftPM has fetched. The generator's plugin would compile all of Sluice again."""
    scratch = SCRATCH / "manual"
    subprocess.run(["swift", "build", "--package-path", SCRATCH / "checkouts/swift-argument-parser", "--product", "generate-manual",
                    "--scratch-path", scratch], check=True, stdout=subprocess.DEVNULL)
    return scratch / "debug/generate-manual"


def manual() -> str:
    # The date is the release date, so that the page changes only when the help does.
    date = re.search(r"^## \d\S* - (\d{4}-\d\d-\d\d)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)[1]
    page = subprocess.run([generator(), program("sluice"), "--date", date, "--output-directory", "-"], check=True, capture_output=True,
                          text=True).stdout
    lines: list[str] = []
    for line in page.splitlines():
        # mdoc allows no blank lines, and an indented line breaks the text only before itself, not after.
        if not line.strip():
            line = ".Pp"
        elif lines and lines[-1].startswith(" ") and not line.startswith((" ", ".")):
            lines.append(".br")
        lines.append(line.rstrip())
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    check, page = parser.parse_args().check, manual()
    if not check:
        PAGE.write_text(page)
        return 0
    old = PAGE.read_text() if PAGE.exists() else ""
    sys.stdout.writelines(difflib.unified_diff(old.splitlines(True), page.splitlines(True), "docs/sluice.1", "from the help", n=1))
    if old != page:
        print("docs/sluice.1 isn't what the help says. Run Scripts/generate/manual.py.", file=sys.stderr)
    return old != page


if __name__ == "__main__":
    sys.exit(main())
