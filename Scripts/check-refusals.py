#!/usr/bin/env python3
"""Compiles what SluiceFiles promises that it does not compile, against the modules of a debug build (`swift build`).

    Scripts/check-refusals.py [--scratch FOLDER] [NAME ...]
    SLUICE_ONLY=SluiceFiles Scripts/check-refusals.py --scratch .build-files use-after-close

`--scratch` names the folder that was built into (`--scratch-path`), `.build` by default; names choose snippets.

Each file in Tests/Refusals is compiled twice:

1. As it is, it must be refused, and every error must match the regular expression of its first line, `// error: …`.
2. Its twin must compile: the same without the lines that end in `// refused`, and with the code behind `// instead:`. A
   snippet with a typing error or a missing import is thus not taken for a promise that is kept.
"""
import argparse, concurrent.futures, os, re, sys
from snippets import ROOT, compile_snippet

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--scratch", default=".build", metavar="FOLDER", help="the folder that was built into")
parser.add_argument("names", nargs="*", metavar="NAME", help="snippets to check, all by default")
arguments = parser.parse_args()
SCRATCH = ROOT / arguments.scratch
IMPORTS = "import FoundationEssentials\nimport SluiceFiles\n"


def twin(code: str) -> str:
    lines = [line for line in code.splitlines() if not line.rstrip().endswith("// refused")]
    return "\n".join(re.sub(r"^(\s*)// instead: ", r"\1", line) for line in lines) + "\n"


def check(path) -> list[str]:
    first, _, code = path.read_text().partition("\n")
    name = path.relative_to(ROOT)
    if not first.startswith("// error: "):
        return [f"{name}: the first line is not `// error: <regular expression>`"]
    wanted = first.removeprefix("// error: ")
    problems = []
    other = twin(code)
    if other == code:
        problems.append(f"{name}: has no twin: neither a line that ends in `// refused` nor one with `// instead:`")
    output = compile_snippet(IMPORTS + code, SCRATCH)
    errors = re.findall(r"^\S+?:\d+:\d+: error: (.*)$", output or "", re.MULTILINE)
    if output is None:
        problems.append(f"{name}: compiles, and should be refused: {wanted}")
    elif not errors or not all(re.search(wanted, error) for error in errors):
        problems.append(f"{name}: refused, but not because of: {wanted}\n{output}")
    output = compile_snippet(IMPORTS + other, SCRATCH)
    if output is not None:
        problems.append(f"{name}: its twin should compile\n{output}")
    return problems


if not (SCRATCH / "debug" / "Modules").exists():
    sys.exit(f"There is no debug build in {SCRATCH.name}: run `swift build` first.")
paths = sorted(path for path in (ROOT / "Tests/Refusals").glob("*.swift")
               if not arguments.names or path.stem in arguments.names)
if not paths:
    sys.exit("There is no such snippet in Tests/Refusals.")
with concurrent.futures.ThreadPoolExecutor(min(4, os.cpu_count() or 1)) as workers:
    problems = [problem for found in workers.map(check, paths) for problem in found]
print("\n".join(problems) if problems else f"{len(paths)} snippets are refused as they should be, and their twins compile")
sys.exit(1 if problems else 0)
