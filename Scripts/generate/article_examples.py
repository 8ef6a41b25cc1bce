"""The images of NativeMark's articles, which the articles define.

A block of `markdown` is the document for the images after it. A block of `json` is added to the style sheet as `StyleSheet.setting` adds
rules. An image `![…](name.svg)` or `![…](name.png)` shows the document with the style sheet, on a dark page if its name ends in `-dark`.
"""
import json, pathlib, re

CATALOG = pathlib.Path(__file__).resolve().parents[2] / "Sources/NativeMark/NativeMark.docc"


def examples(article: str, extension: str):
    """Yields the images of an article with an extension: name, style sheet, document."""
    document, sheet = "", {}
    for kind, text, image in re.findall(r"^```(json|markdown)\n(.*?)^```$|^!\[[^\]]*\]\(([\w-]+\.(?:svg|png))\)$", article,
                                          re.DOTALL | re.MULTILINE):
        if kind == "markdown":
            document = text
        elif kind == "json":
            rules = json.loads(text)
            # An example that begins with its own base doesn't continue the one before.
            if "base" in rules and extension == "png":
                sheet = {}
            merge(sheet, rules)
        elif image.endswith(extension):
            yield image, sheet, document


def merge(sheet: dict, rules: dict) -> None:
    """Adds rules. A style replaces an earlier one with the same selector and name."""
    for part, value in rules.items():
        if isinstance(value, dict):
            target = sheet.setdefault(part, {})
            for selector, styles in value.items():
                target[selector] = {**target.get(selector, {}), **styles} if part != "colors" else styles
        else:
            sheet[part] = value
