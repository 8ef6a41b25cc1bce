#!/usr/bin/env python3
"""Lists the texts that users of the libraries and of the command line see, grouped by module and kind, to be read in one go: traps, errors,
remedies, descriptions, help texts, and the other strings of two or more words. This isn't a check. It takes a second, and builds nothing.

    Scripts/list-messages.py                  # all modules
    Scripts/list-messages.py SluiceFiles      # one or more modules
    Scripts/list-messages.py --kind trap      # one kind

A line has the place, what the text is passed to, and the text. `\\(…)` stands for a longer interpolation, and literals that are joined with
`+` are one text.
"""
import argparse, collections, pathlib, re, sys

SOURCES = pathlib.Path(__file__).resolve().parents[1] / "Sources"

# A kind, and the calls, labels and declarations around a string of this kind. The first kind that matches is used.
KINDS = [
    ("trap", re.compile(r"precondition\w*|fatalError|assert\w*")),
    ("help", re.compile(r"CommandConfiguration|Option|Flag|Argument|OptionGroup|ArgumentHelp|help|abstract|discussion|usage|valueName")),
    ("error", re.compile(r"\w*(?:Error|Refusal|Failure|Problem)|Entry|message|remedy|reason|operation|fail\w*|refus\w*|invalid\w*"
                         r"|problem\w*")),
    ("description", re.compile(r"\w*[dD]escription|accessibility\w*|label\w*")),
]
TOKEN = re.compile(
    r'(?P<comment>//[^\n]*|/\*.*?\*/)|(?P<string>(?P<raw>#*)"""(?:\\.|.)*?"""(?P=raw)|#+"[^\n]*?"#+'
    r'|"(?:\\\((?:[^()"\n]|"(?:\\\([^()\n]*\)|\\.|[^"\\\n])*"|\((?:[^()\n]|\([^()\n]*\))*\))*\)|\\.|[^"\\\n])*")'
    r"|(?P<open>[(\[{])|(?P<close>[)\]}])|(?P<end>[;\n])|(?P<label>\w+)\s*:(?!:)|(?P<name>[@#]?\w+)|(?P<other>[^\s\w])", re.DOTALL)
INTERPOLATION = re.compile(r"\\#*\((?:[^()\n]|\((?:[^()\n]|\([^()\n]*\))*\))*\)")
TWO_WORDS = re.compile(r"[A-Za-z][\w'’]*[,.:;]? +(?:\S+ +)?[A-Za-z]{2}")
# SQL, HTML, the entity table, and names such as EIO.
CODE = re.compile(r"[A-Z0-9_]+$|.{9999}|.*=\s?\?|\s*</?\w|\s*(?:SELECT|INSERT|UPDATE|DELETE|CREATE|ALTER|DROP|PRAGMA|BEGIN|COMMIT|ROLLBACK"
                  r"|EXISTS|WITH|VALUES|AND|WHERE|ORDER|RETURNING)\b", re.DOTALL)
DECLARATION = re.compile(r"\b(?:var|let|func|init)\b *(?P<name>\w*)")


def shown(literal: str) -> str:
    """Returns the text of a literal on one line."""
    text = re.sub(r"\\\n\s*", "", literal.strip("#"))
    text = text.strip('"') if text.startswith('"""') else text[1:-1]
    text = INTERPOLATION.sub(lambda match: match[0] if len(match[0]) < 40 else "\\(…)", text)
    return re.sub(r"\s+", " ", text)


def texts(source: str):
    """Yields (line, context, text) for each string outside of comments. The context is a list of the names of the calls, the labels and the
    declarations around the string, from the nearest to the farthest."""
    stack: list[list[str]] = []
    declared: list[str] = []
    name = label = ""
    pending: list | None = None
    joined = False
    for match in TOKEN.finditer(source):
        kind, found = match.lastgroup if match.lastgroup != "raw" else "string", match[0]
        if kind in ("comment", "end"):
            if kind == "end":
                name = ""
            continue
        if kind == "string":
            context = [label, *declared[-1:], *(word for frame in reversed(stack) for word in frame)]
            if pending and joined:
                pending[2] += shown(found)
            else:
                if pending:
                    yield tuple(pending)
                pending = [source.count("\n", 0, match.start()) + 1, [word for word in context if word], shown(found)]
            joined = False
            continue
        if pending and kind == "other" and found == "+":
            joined = True
            continue
        if pending:
            yield tuple(pending)
            pending, joined = None, False
        if kind == "open":
            if found == "{":
                start = max(source.rfind("\n", 0, match.start()), 0)
                header = DECLARATION.search(source, start, match.start())
                stack.append([header["name"] if header else ""])
            else:
                stack.append([name, label])
            name = label = ""
        elif kind == "close":
            if stack:
                stack.pop()
            name = label = ""
        elif kind == "label":
            label, name = match["label"], ""
        elif kind == "name":
            if name in ("var", "let", "func", "case"):
                declared = [found]
            name = found
        elif found == ",":
            label = name = ""
        elif found != ".":
            name = ""
    if pending:
        yield tuple(pending)


def kind_of(context: list[str], text: str) -> str | None:
    if CODE.match(text):
        return None
    for kind, pattern in KINDS:
        if any(pattern.fullmatch(word) for word in context):
            return kind if re.search("[A-Za-z]{2}", INTERPOLATION.sub("", text)) else None
    plain = INTERPOLATION.sub("x1", text)
    return "other" if TWO_WORDS.search(plain) else None


def main() -> None:
    modules = sorted(path.name for path in SOURCES.iterdir() if any(path.rglob("*.swift")))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kind", choices=[kind for kind, _ in KINDS] + ["other"], help="list only this kind")
    parser.add_argument("modules", nargs="*", metavar="MODULE", help="the modules to list, all by default")
    arguments = parser.parse_args()
    if unknown := [name for name in arguments.modules if name not in modules]:
        sys.exit(f"There is no module {', '.join(unknown)}. The modules are {', '.join(modules)}.")

    total = 0
    for module in arguments.modules or modules:
        lists = collections.defaultdict(list)
        for path in sorted((SOURCES / module).rglob("*.swift")):
            for line, context, text in texts(path.read_text()):
                if kind := kind_of(context, text):
                    lists[kind].append(f"{path.relative_to(SOURCES / module)}:{line}: {' < '.join(context[:2])}: {text}")
        for kind in [kind for kind, _ in KINDS] + ["other"]:
            if arguments.kind in (None, kind) and lists[kind]:
                print(f"\n== {module}: {kind} ({len(lists[kind])})", *lists[kind], sep="\n")
                total += len(lists[kind])
    print(f"\n{total} texts")


if __name__ == "__main__":
    main()
