#!/usr/bin/env python3
"""Proves that our prose has none of the words that our English avoids, and names the replacement to use.

Prose is the comments, strings and test names of Swift, C, Python and shell files, the descriptions of Tests/Mutations, and Markdown. The
check takes two seconds, and builds nothing.

    Scripts/checks/prose.py [PATH ...]       # all files in git, or those with paths that begin with PATH
    Scripts/checks/prose.py --all            # also prints the findings in NOT_YET
    Scripts/checks/prose.py --self-check     # proves that a bad line in each kind of file is found

Identifiers, interpolations, code spans, addresses and indented samples aren't prose. If an avoided word is correct in some place, add it to
EXCEPTIONS with the reason. An exception that applies to nothing is an error too, so that the list stays short.
"""
import argparse, fnmatch, pathlib, re, subprocess, sys
from builds import ROOT

# The files to check, as paths for `git ls-files`.
CHECKED = ["Sources", "Tests", "Benchmarks", "Examples", "Scripts", "docs", ".ci/run", "*.md", "Package.swift", "Makefile"]

# The files that aren't clean yet, by the beginning of their paths, with the number of their findings. The findings aren't printed, and
# more than these fail the check. This list only gets shorter.
NOT_YET: dict[str, int] = {}

# Words and expressions, in any case, each with its replacement. A space matches any white space, including a line break. `s?` and `\w*`
# are as in regular expressions.
AVOIDED = {
    "who|whom|whoever|whomever|whosoever|who's|who’s|who'd|who'll": "the actor: the caller, a waiting task, a type that …",
    "nobody|no one|somebody|someone|anybody|anyone|everybody|everyone": "no task, another process, a caller, each caller",
    "anew": "again, from the start",
    "for ever": "forever, without end",
    "at once": "immediately, or concurrently",
    "folders?": "directory",
    "pictures?": "image",
    "hence|thence|whence|thereof|therein": "so",
    "is to be|are to be|was to be|were to be": "must be",
    "would have it": "requires",
    r"colour\w*|behaviour\w*|flavour\w*|honour\w*|favour\w*|neighbour\w*|catalogues?|centres?|artefacts?|specialis\w+|initialis\w+|"
    r"serialis\w+|normalis\w+|synchronis\w+|optimis[ei]\w*|recognis\w+|organis[ei]\w*|summaris\w+|minimis\w+":
        "the American spelling",
    "canceled|canceling": "cancelled, cancelling (as in Swift)",
}

# (files, the text that is allowed in them, the reason). The text is a regular expression that must cover the avoided word.
EXCEPTIONS = [
    ("Scripts/checks/prose.py", ".*", "the list of the words itself"),
    ("Tests/NativeMarkTests/Styles/*", "colour", "a mistake that the style sheet must find"),
    ("Sources/NativeMark/NativeMark.docc/StylingByExample.md", r"heading1\W+colour", "a mistake that the style sheet must find"),
    ("*/Queue/SQLite/*", r'folder TEXT|url, folder, name|"folder"', "a column of existing databases"),
    ("*", r"\b(user|person|guest)s? who\b", "people"),
]

# One expression with alternatives that begin with a letter, which makes it fast. It runs over a lowercase text, and the character before a
# match is checked afterwards. An empty group tells which entry matched.
WORDS = re.compile("|".join(f"{word.replace(' ', chr(92) + 's+')}(?P<w{number}>)(?![\\w-])"
                            for number, word in enumerate(word for words in AVOIDED for word in words.split("|"))))
ADVICE = [advice for words, advice in AVOIDED.items() for _ in words.split("|")]
BEFORE = re.compile(r"[\w.-]")

# This character masks code. It is neither part of a word nor white space, so that words around code never match as one expression.
CODE = "\0"
NOT_A_LINE_END = re.compile(r"[^\n]")

SWIFT = re.compile(r'''(?P<comment>//[^\n]*|/\*.*?\*/)|(?P<multiline>(#*)"""(?:\\.|.)*?"""\3)|(?P<raw>(#+)".*?"\5)'''
                   r'''|(?P<string>"(?:\\\((?:[^()\n]|\((?:[^()\n]|\([^()\n]*\))*\))*\)|\\.|[^"\\\n])*")|(?P<name>`[^`\n]*`)''', re.DOTALL)
C = re.compile(r'(?P<comment>//[^\n]*|/\*.*?\*/)|(?P<string>"(?:\\.|[^"\\\n])*")', re.DOTALL)
PYTHON = re.compile(r'''(?P<multiline>[rbf]*(?:"""(?:\\.|.)*?"""|\'\'\'(?:\\.|.)*?\'\'\'))|(?P<comment>#[^\n]*)'''
                    r'''|(?P<string>[rbf]*(?:"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'))''', re.DOTALL)
SHELL = re.compile(r'''(?P<comment>(?:^|(?<=\s))#[^\n]*)|(?P<string>"(?:\\.|[^"\\])*"|'[^']*')|\\.''', re.DOTALL | re.MULTILINE)
# The descriptions in Tests/Mutations. The other strings there are lines of the sources.
TOML = re.compile(r'(?P<comment>^#[^\n]*)|(?P<string>^what = "(?:\\.|[^"\\\n])*")', re.MULTILINE)
INTERPOLATIONS = {SWIFT: re.compile(r"\\#*\((?:[^()\n]|\((?:[^()\n]|\([^()\n]*\))*\))*\)"), PYTHON: re.compile(r"\{[^{}\n]*\}"),
                  SHELL: re.compile(r"\$\w+|\$\{[^}\n]*\}|\$\([^)\n]*\)")}
MARKER = re.compile(r"^([ \t]*)(///?|#+!?:?|\*)|^\s*/\*\*?|\*/$", re.MULTILINE)
SPAN = re.compile(r"(`+)(?!`).+?(?<!`)\1(?!`)|https?://[^\s)>]+|\]\([^)\s]*\)|</?\w[^>\n]*>", re.DOTALL)
GIVEN = re.compile(r"<!-- given: .*?-->|^\[given\]: # '.*?'$", re.DOTALL | re.MULTILINE)
FENCE = re.compile(r"^( *)(```+|~~~+)([^\n]*)\n(.*?)^ *\2[`~]*[ \t]*$", re.DOTALL | re.MULTILINE)


def masked(text: str) -> str:
    return NOT_A_LINE_END.sub(CODE, text)


def blank(match: re.Match) -> str:
    return re.sub(r"[^\n]", " ", match[0])


def spans_masked(text: str) -> str:
    return SPAN.sub(lambda match: masked(match[0]), text)


def prose_of_comment(text: str) -> str:
    return spans_masked(MARKER.sub(blank, text))


def prose_of_code(text: str, language: re.Pattern) -> str:
    """Returns the text with a mask over everything except comments, strings and names of several words. Each character keeps its place.
    Indented samples in doc comments are code, and may contain comments."""
    parts, end = [], 0
    for match in language.finditer(text):
        between = text[end:match.start()]
        parts.append(between if between.isspace() else masked(between))
        kind, found = match.lastgroup, match[0]
        groups = match.groupdict()
        if groups.get("comment"):
            if language is SWIFT and found.startswith("///     "):
                parts.append("   " + prose_of_code(found[3:], SWIFT))
            else:
                parts.append(prose_of_comment(found))
        elif groups.get("name"):
            parts.append(CODE + found[1:-1] + CODE if " " in found else masked(found))
        elif kind is None:
            parts.append(masked(found))
        else:
            pattern = INTERPOLATIONS.get(language)
            inner = pattern.sub(lambda inner: masked(inner[0]), found) if pattern else found
            parts.append(CODE + spans_masked(inner)[1:-1] + CODE)
        end = match.end()
    return "".join(parts) + masked(text[end:])


def prose_of_markdown(text: str) -> str:
    """Returns Markdown with a mask over code spans, addresses and the declarations for samples. Fenced blocks of `text` are prose, and
    those of Swift contain comments."""
    text = GIVEN.sub(lambda match: masked(match[0]), text)
    parts, end = [], 0
    for match in FENCE.finditer(text):
        language, code = match[3].strip(), match[4]
        start = match.start(4)
        inner = code if language == "text" else prose_of_code(code, SWIFT) if language == "swift" else masked(code)
        parts += [spans_masked(text[end:match.start()]), masked(text[match.start():start]), inner]
        end = start + len(code)
    return "".join(parts) + spans_masked(text[end:])


LANGUAGES = {".swift": SWIFT, ".c": C, ".h": C, ".py": PYTHON, ".sh": SHELL, ".toml": TOML, "": SHELL}


def prose_of(path: str, text: str) -> str | None:
    suffix = pathlib.PurePath(path).suffix
    if suffix == ".md":
        return prose_of_markdown(text)
    return prose_of_code(text, LANGUAGES[suffix]) if suffix in LANGUAGES else None


def findings(path: str, text: str, used: set[int]) -> list[str]:
    """Returns a line for each avoided word, with its place and its replacement. Adds the exceptions that applied to `used`."""
    prose = prose_of(path, text)
    if prose is None:
        return []
    allowed = [(number, re.compile(pattern)) for number, (files, pattern, _) in enumerate(EXCEPTIONS) if fnmatch.fnmatch(path, files)]
    found = []
    lowercase = prose.lower() if len(prose.lower()) == len(prose) else prose
    for match in WORDS.finditer(lowercase):
        if BEFORE.fullmatch(prose[max(match.start() - 1, 0):match.start()]):
            continue
        start = text.rfind("\n", 0, match.start()) + 1
        end = text.find("\n", match.end())
        line = text[start:end if end >= 0 else len(text)]
        column = match.start() - start
        covering = [number for number, pattern in allowed
                    if any(there.start() <= column and match.end() - start <= there.end() for there in pattern.finditer(line))]
        if covering:
            used.update(covering)
            continue
        place = f"{path}:{text.count(chr(10), 0, start) + 1}"
        found.append(f"{place}: “{' '.join(prose[match.start():match.end()].split())}”: write {ADVICE[int(match.lastgroup[1:])]}")
    return found


# Samples of each kind of file: lines that must be found, and lines that must not.
SAMPLES = {
    "bad.swift": ["/// Asks whoever waits.", "let a = 1  // Tried at once.", 'let b = "a folder \\(x.folder) is there"', "/* Nobody asks. */",
                  "func `nobody waits`() {}", '    """', "    A picture.", '    """', "// This goes on for", "    // ever.", "///     let a = b  // Who?",
                  'let c = #"hence"#'],
    "good.swift": ["let folder = picture  // A `folder` of ``Nobody``.", 'let a = "\\(folder.map { "\\($0)" })"', "///     let folder = picture",
                   "func `folder`() {}", "/// See https://example.com/who and [a page](who.md).", 'let b = "at" + "once"'],
    "bad.c": ["/* A folder. */", "int i; // Who is it?", 'puts("nobody");'],
    "good.c": ["int folder = 0; // A directory."],
    "bad.py": ['"""Makes a picture."""', "folder = 1  # It is to be found.", "print('anew', f'at once {folder}')"],
    "good.py": ["folder = picture[whose]", "print(f'{folder}')", "at = 'at'; once = 'once'"],
    "bad.sh": ["# Nobody calls this.", 'echo "the folder $1"', "echo 'for ever'"],
    "good.sh": ['folder=$1; ls "$folder"', "who | wc -l  # prints a number"],
    "bad.md": ["It starts", "at once, and <b>whoever</b> waits sees it.", "", "```text", "nobody ─▶ file", "```", "", "```swift",
               "let folder = 1  // a folder", "```"],
    "good.md": ["<!-- given: let folder = 1", "-->", "Call `folder()` of [this page](folder.md), <picture>.", "", "```swift", "let picture = folder", "```", "", "```sh",
                "who", "```"],
    "bad.toml": ['what = "nobody waits"', "replace = '''", "folder // Who?", "'''"],
    "Makefile": ["# Makes a folder.", "\t@echo 'make picture'"],
}
# The number of avoided words in each sample; none in the others.
EXPECTED = {"bad.swift": 9, "bad.c": 3, "bad.py": 4, "bad.sh": 3, "bad.md": 4, "bad.toml": 1, "Makefile": 2}


def self_check() -> list[str]:
    problems = []
    for name, lines in SAMPLES.items():
        found = findings(name, "\n".join(lines) + "\n", set())
        if len(found) != EXPECTED.get(name, 0):
            problems.append("\n".join([f"The sample {name} has {EXPECTED.get(name, 0)} avoided words, and {len(found)} were found:", *found]))
    return problems


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--self-check", action="store_true", help="check that each avoided word in samples is found")
    parser.add_argument("--all", action="store_true", help="also print the findings in files that aren't clean yet")
    parser.add_argument("paths", nargs="*", metavar="PATH", help="the beginning of the paths to check")
    arguments = parser.parse_args()
    if arguments.self_check:
        problems = self_check()
        print("\n".join(problems) if problems else f"{sum(EXPECTED.values())} avoided words in {len(EXPECTED)} samples are found")
        return bool(problems)

    listed = subprocess.run(["git", "ls-files", "-z", *CHECKED], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    names = [name for name in listed.split("\0") if name and (ROOT / name).is_file() and not (ROOT / name).is_symlink()]
    if arguments.paths:
        names = [name for name in names if name.startswith(tuple(arguments.paths))]
    used: set[int] = set()
    problems, later = [], dict.fromkeys(NOT_YET, 0)
    for name in names:
        if pathlib.PurePath(name).suffix != ".md" and pathlib.PurePath(name).suffix not in LANGUAGES:
            continue
        found = findings(name, (ROOT / name).read_text(), used)
        directory = next((directory for directory in NOT_YET if name.startswith(directory)), None)
        if directory and not arguments.all:
            later[directory] += len(found)
        else:
            problems += found
    if not arguments.paths and not arguments.all:
        problems += [f"{directory} has {count} avoided words, and had {NOT_YET[directory]}: see Scripts/checks/prose.py {directory} --all"
                     for directory, count in later.items() if count > NOT_YET[directory]]
        problems += [f"the exception {EXCEPTIONS[number][:2]} applies to nothing: remove it"
                     for number in range(len(EXCEPTIONS)) if number not in used]
    checked = sum(1 for name in names if arguments.all or not name.startswith(tuple(NOT_YET)))
    print("\n".join(problems) if problems else f"{checked} files have none of the words that our English avoids")
    for directory, count in later.items() if not arguments.all and not arguments.paths else ():
        print(f"not clean yet: {directory} has {count} avoided words" if count else f"{directory} is clean: remove it from NOT_YET")
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
