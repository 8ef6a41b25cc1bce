"""Finds the parts of a Swift file between `#if` and `#endif`, and the systems that compile them, for apple.py."""
import dataclasses, pathlib, re

# Modules that only Apple's platforms have.
OF_APPLE = {"AppKit", "CoreGraphics", "CryptoKit", "Darwin", "ImageIO", "SwiftUI", "UIKit"}
# Modules of this machine that Apple's platforms lack. Musl is the C library of other Linux systems, which no check compiles.
OF_LINUX = {"Glibc", "Musl", "FoundationEssentials", "FoundationNetworking"}
FLAGS = {"DEBUG", "PostgreSQL"}


@dataclasses.dataclass(frozen=True)
class Arm:
    path: pathlib.Path
    line: int               # of the directive that begins it
    conditions: tuple[str, ...]

    def is_active(self, system: str, modules: set[str], flags: set[str]) -> bool:
        return all(holds(condition, system, modules, flags) for condition in self.conditions)

    @property
    def is_of_linux(self) -> bool:
        """Whether this machine compiles it. Its builds have every combination of our own flags."""
        conditions = [condition for condition in self.conditions if re.search(r"\b(os|canImport)\(", condition)]
        return all(holds(condition, "Linux", OF_LINUX - {"Musl"} | {"Dispatch"}, FLAGS | {"SLUICE_URLSESSION"})
                   for condition in conditions)

    @property
    def is_of_musl(self) -> bool:
        return self.conditions[-1].endswith("(canImport(Musl))")


def holds(condition: str, system: str, modules: set[str], flags: set[str]) -> bool:
    text = re.sub(r"\bos\((\w+)\)", lambda found: str(found[1] == system), condition)
    text = re.sub(r"\bcanImport\((\w+)\)", lambda found: str(found[1] in modules), text)
    text = re.sub(r"\b(?!True|False)[A-Za-z_]\w*\b", lambda found: str(found[0] in flags), text)
    return eval(text.replace("&&", " and ").replace("||", " or ").replace("!", " not "))


def arms(path: pathlib.Path) -> list[Arm]:
    """Returns the arms of a file, and their conditions with those of the arms around them."""
    found: list[Arm] = []
    open_arms: list[tuple[list[str], str]] = []     # for each #if: the conditions that were false before, and that of this arm
    for number, line in enumerate(path.read_text().split("\n"), 1):
        directive = re.match(r"\s*#(if|elseif|else|endif)\b(.*?)(//.*)?$", line)
        if not directive:
            continue
        word, condition = directive[1], f"({directive[2].strip()})"
        if word == "endif":
            open_arms.pop()
            continue
        if word == "if":
            open_arms.append(([], condition))
        else:
            before, last = open_arms.pop()
            open_arms.append(([*before, last], condition if word == "elseif" else "(True)"))
        found.append(Arm(path, number, tuple(part for before, own in open_arms for part in [*map("!{}".format, before), own])))
    return found


def with_mistakes(text: str, lines: set[int]) -> tuple[str, dict[int, int]]:
    """Inserts a mistake after these lines. Returns the text, and for each mistake's line the line before it in the given text."""
    result, places = [], {}
    for number, line in enumerate(text.split("\n"), 1):
        result.append(line)
        if number in lines:
            result.append(f'func mistake{number}OfTheSelfCheck() -> Int {{ "no number" }}')
            places[len(result)] = number
    return "\n".join(result), places
