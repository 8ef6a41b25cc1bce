#!/usr/bin/env python3
"""Proves that the Markdown files keep their promises: each link to a file of the repository and to a heading resolves, and Troubleshooting
explains each error code, and no others. It takes a second, and builds nothing.
"""
import pathlib, re, subprocess, sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
TROUBLESHOOTING = "docs/Sluice.docc/Troubleshooting.md"
FENCE = re.compile(r"^( {0,3})(```+|~~~+).*?^ {0,3}\2", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[(?:[^\[\]]|\[[^\]]*\])*\]\(<?([^)\s>]+)>?(?: \"[^\"]*\")?\)")


def text_of(path: pathlib.Path) -> str:
    """Returns the text without samples, code spans and comments, where links are only text."""
    text = FENCE.sub("", path.read_text())
    return re.sub(r"(`+)(?!`).+?(?<!`)\1(?!`)|<!--.*?-->", lambda code: "" if code[0][0] == "<" else code[0].strip("`").replace("[", "("), text,
                  flags=re.DOTALL)


def anchors(path: pathlib.Path) -> set[str]:
    """Returns the anchors that GitHub gives to headings: in lowercase, without punctuation, with hyphens for spaces."""
    headings = re.findall(r"^#+ +(.+?) *$", FENCE.sub("", path.read_text()), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def broken_links(path: pathlib.Path) -> list[str]:
    problems = []
    for target in LINK.findall(text_of(path)):
        if re.match(r"[a-z][a-z+.-]*:", target):
            continue
        name, _, anchor = target.partition("#")
        file = (path.parent / name) if name else path
        # DocC finds an image anywhere in the catalog.
        if catalog := next((parent for parent in path.parents if parent.suffix == ".docc"), None):
            file = next(catalog.rglob(pathlib.Path(name).name), file) if name else path
        if not file.exists():
            problems.append(f"{path.relative_to(ROOT)}: {target} doesn't exist")
        elif anchor and file.suffix == ".md" and anchor not in anchors(file):
            problems.append(f"{path.relative_to(ROOT)}: {target} has no such heading")
    return problems


def codes() -> set[tuple[str, str]]:
    """Returns the public error codes in the sources, each as the name of the error and the name of the code."""
    found = set()
    for path in (ROOT / "Sources").rglob("*.swift"):
        error = inside = None
        for line in path.read_text().splitlines():
            if extension := re.match(r"extension (\w+)\.Code\b", line):
                error, inside = extension[1], True
            elif outer := re.match(r"(?:public )?(?:struct|extension) (\w+)", line):
                error, inside = outer[1], False
            elif re.match(r"    public struct Code\b", line):
                inside = True
            if inside and (code := re.match(r" +public static let (\w+)(?:: \w+)? = (?:Self|Code)\(", line)):
                found.add((error, code[1]))
    return found


def main() -> int:
    names = subprocess.run(["git", "ls-files", "-z", "*.md"], cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\0")
    problems = [problem for name in names if name and (ROOT / name).exists() for problem in broken_links(ROOT / name)]

    explained, error = set(), ""
    for line in (ROOT / TROUBLESHOOTING).read_text().splitlines():
        if heading := re.match(r"### (\w+)$", line):
            error = heading[1]
        elif row := re.match(r"\| `(\w+)` \|", line):
            explained.add((error, row[1]))
    declared = codes()
    if len(declared) < 50:
        problems.append(f"only {len(declared)} error codes were found in the sources: correct the pattern of this script")
    problems += [f"{TROUBLESHOOTING} lacks {error}.Code.{code}" for error, code in sorted(declared - explained)]
    problems += [f"{TROUBLESHOOTING} explains {error}.Code.{code}, which doesn't exist" for error, code in sorted(explained - declared)]
    print("\n".join(problems) or f"All links resolve, and {len(declared)} error codes are explained.")
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
