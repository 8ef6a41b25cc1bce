"""Finds the code samples in articles and in the doc comments of Swift files, for the other checks.

A sample in an article is fenced and names its language. A sample in a doc comment is also fenced, or it is indented by four spaces; an
indented sample is always Swift.
"""
import dataclasses, pathlib, re

ROOT = pathlib.Path(__file__).resolve().parents[2]

FENCE = re.compile(r" {0,3}(```+|~~~+) *(\S*)")
LIST_ITEM = re.compile(r" {0,3}(?:[-*+]|\d+[.)]) ")
DECLARATION = re.compile(r"(?P<indent>\s*)(?P<modifiers>(?:@\S+ |\w+(?:\(\w+\))? )*?)"
                         r"(?P<keyword>struct|class|enum|actor|protocol|extension|func|var|let|init|subscript|case|typealias|"
                         r"associatedtype|macro)\b ?(?P<name>[\w.]*)")
TYPES = ("struct", "class", "enum", "actor", "protocol", "extension")


@dataclasses.dataclass(frozen=True)
class Sample:
    path: str                   # relative to the root of the repository
    line: int                   # the number of the first line of the code
    code: str                   # with the indentation of the file, so that the compiler's columns are right
    given: str = ""             # the declarations that a sample in an article needs
    is_public: bool = True      # whether an application can use the documented declaration


def located(code: str, path: str, line: int) -> str:
    """Returns the code with a directive that makes errors name its place in the repository."""
    return f'#sourceLocation(file: "{path}", line: {line})\n{code}\n#sourceLocation()\n'


def function(sample: Sample, name: str) -> str:
    code = re.sub(r"^ *import .*", "", sample.code, flags=re.MULTILINE).replace("…", " ")
    return f"func {name}() async throws {{\n{located(code, sample.path, sample.line)}}}\n"


class Documented:
    """All Swift samples of a file, the number of its blocks in other languages, and the problems in its blocks."""

    def __init__(self, path: pathlib.Path):
        self.path = str(path.relative_to(ROOT))
        self.samples: list[Sample] = []
        self.others = 0
        self.problems: list[str] = []
        self.lines = path.read_text().split("\n")
        if path.suffix == ".md":
            self._read(0, self.lines, indented=False)
        else:
            for first, count in self._comments():
                self._read(first, [re.sub(r"^(\s*)///", r"\1   ", line) for line in self.lines[first:first + count]],
                           margin=len(self.lines[first]) - len(self.lines[first].lstrip()) + 4,
                           is_public=is_public(self.lines, first + count, path))

    def _comments(self):
        """Yields the first line and the number of lines of each doc comment."""
        first = None
        for number, line in enumerate([*self.lines, ""]):
            is_comment = line.lstrip().startswith("///")
            if is_comment and first is None:
                first = number
            elif not is_comment and first is not None:
                yield first, number - first
                first = None

    def _read(self, first: int, lines: list[str], margin: int = 0, indented: bool = True, is_public: bool = True):
        """Collects the blocks of Markdown text that begins at line `first` of the file. Each line of the text begins after a margin."""
        number, blank, in_list, given = 0, True, False, ""
        while number < len(lines):
            text, start = lines[number][margin:], number
            if fence := FENCE.match(text):
                mark, language = fence.groups()
                end = next((end for end in range(number + 1, len(lines)) if lines[end][margin:].strip() == mark), None)
                if end is None:
                    return self._refuse(first + number, "this fence is not closed")
                if language == "swift":
                    code = "\n".join(lines[number + 1:end])
                    self.samples.append(Sample(self.path, first + number + 2, code, given, is_public))
                elif language:
                    self.others += 1
                else:
                    self._refuse(first + number, "name the language after ```, such as swift, sh or text")
                number, given = end + 1, ""
            elif text.startswith("<!-- given: "):
                end = next(end for end in range(number, len(lines)) if "-->" in lines[end])
                comment = "\n".join(lines[number:end + 1])
                given = comment.removeprefix("<!-- given: ").rpartition("-->")[0]
                number = end + 1
            elif text.startswith("[given]: # '"):
                end = next(end for end in range(number, len(lines)) if lines[end].rstrip().endswith("'"))
                given = "\n".join(lines[number:end + 1]).removeprefix("[given]: # '").rstrip().removesuffix("'")
                number = end + 1
            elif text.startswith("    ") and text.strip() and blank:
                while number < len(lines) and (lines[number][margin:].startswith("    ") or not lines[number].strip()):
                    number += 1
                if in_list:
                    self._refuse(first + start, "an indented block in a list is not a sample: fence it, or indent it less")
                elif not indented:
                    self._refuse(first + start, "fence the code of an article, with its language after ```")
                else:
                    code = "\n".join(lines[start:number]).rstrip()
                    self.samples.append(Sample(self.path, first + start + 1, code, is_public=is_public))
            else:
                in_list = bool(LIST_ITEM.match(text)) or in_list and not (blank and text[:1].strip())
                if given and text.strip():
                    self._refuse(first + number, "a sample must follow <!-- given: … -->")
                    given = ""
                number += 1
            blank = not text.strip() or number - start > 1

    def _refuse(self, line: int, why: str):
        self.problems.append(f"{self.path}:{line + 1}: error: {why}")


PUBLIC_TYPES: dict[pathlib.Path, dict[str, bool]] = {}


def public_types(module: pathlib.Path) -> dict[str, bool]:
    """Returns whether each type that a module declares is public, by name."""
    if module not in PUBLIC_TYPES:
        types = PUBLIC_TYPES[module] = {}
        for path in module.rglob("*.swift"):
            for line in path.read_text().split("\n"):
                found = DECLARATION.match(line)
                if found and found["keyword"] in TYPES and found["keyword"] != "extension":
                    types[found["name"]] = types.get(found["name"], False) or "public" in found["modifiers"].split()
    return PUBLIC_TYPES[module]


def is_public(lines: list[str], number: int, path: pathlib.Path) -> bool:
    """Returns whether an application can use the declaration below a doc comment: it and its enclosing type must be public."""
    module = ROOT / "Sources" / path.relative_to(ROOT / "Sources").parts[0]
    while number < len(lines) and re.match(r"\s*((@\S+ *)+$|//|#)", lines[number]):
        number += 1
    found = DECLARATION.match(lines[number]) if number < len(lines) else None
    if not found:
        return False
    outer = next((outer for outer in map(DECLARATION.match, reversed(lines[:number]))
                  if outer and outer["keyword"] in TYPES and len(outer["indent"]) < len(found["indent"])), None)
    outer_is_public = outer is None or (public_types(module).get(outer["name"].split(".")[-1], True))
    words = found["modifiers"].split()
    if {"package", "internal", "fileprivate", "private"} & set(words):
        return False
    inherits = outer and (found["keyword"] == "case" or outer["keyword"] == "protocol" or "public" in outer["modifiers"].split()
                          and outer["keyword"] == "extension")
    return outer_is_public and bool({"public", "open"} & set(words) or inherits)
