#!/usr/bin/env python3
"""Draws what a terminal shows, as SVG: the examples in NativeMark's articles, and `sluice demo`. With --check, proves that the images of the
articles are up to date.

    swift build --product MarkdownWorker
    Scripts/generate/terminal-images.py                  # draws Sources/NativeMark/NativeMark.docc/Resources/*.svg
    Scripts/generate/terminal-images.py --check          # exits with 1 if one of them is out of date
    swift build -c release --product sluice
    Scripts/generate/terminal-images.py --demo           # draws docs/images/demo.svg
    Scripts/generate/terminal-images.py --get            # draws docs/images/get.svg: needs nginx, and 5 GiB of /dev/shm
    Scripts/generate/terminal-images.py --demo PROGRAM   # runs another build

The articles define their images, as article_examples.py describes.

The demo and `sluice get` run in a pseudo-terminal of 80 columns. The program is the release build, or else the debug build, in the
directory that SLUICE_SCRATCH names, `.build` by default. The upper half of the image is a frame from the middle of the download, and the
lower half is the screen at the end. --check doesn't compare these images, because the times and speeds differ from run to run.

The images use only system fonts. Box-drawing characters are drawn as lines, because the characters in fonts leave gaps between rows.
"""
import argparse, contextlib, fcntl, json, os, pathlib, pty, re, select, signal, socket, struct, subprocess, sys, tempfile, termios, time
import unicodedata
from html import escape

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path += [str(ROOT / "Scripts/checks"), str(ROOT / "Scripts/generate")]
import builds
from article_examples import CATALOG, examples
from commonmark import Worker

# MARK: Drawing

CELL, ROW, SIZE, MARGIN = 8.4, 19, 14, 14
FONT = "ui-monospace, 'SF Mono', Menlo, Consolas, 'DejaVu Sans Mono', monospace"
# Background, text, edge.
PAGES = {"light": ("#ffffff", "#1d1d1f", "#d5d5da"), "dark": ("#1c1c1e", "#e8e8ed", "#48484d")}
# The sixteen colors of a typical terminal.
ANSI = {
    "light": "#000000 #b3261e #1f7a35 #8a6100 #1f4fc4 #8e2a9e #0b7285 #6e6e73 "
             "#5b5b60 #d93025 #2b9a47 #a87900 #3367e0 #a63fb8 #12899f #8e8e93",
    "dark": "#3a3a3c #ff6b60 #5fd07a #e6c04d #7aa7ff #d98ae6 #5cc9db #d1d1d6 "
            "#8e8e93 #ff8a80 #86e39b #f5d76e #a3c2ff #e8adf2 #8adfec #ffffff",
}
TOKEN = re.compile(r"\x1b\[([0-9;]*)m|\x1b\]8;[^\x1b]*\x1b\\|([^\x1b])", re.DOTALL)
# The arms of each frame character: left, right, up, down. The arms of HEAVY are thick.
ARMS = {"─": "lr", "━": "lr", "│": "ud", "┌": "rd", "┐": "ld", "└": "ru", "┘": "lu", "├": "rud", "┤": "lud", "┬": "lrd",
        "┴": "lru", "┼": "lrud"}
HEAVY = "━"
# Chromium joins consecutive spaces, although the file says xml:space="preserve". It keeps no-break spaces.
SPACE = "\u00a0"
HEAVY_STROKE, DIM = ' stroke-width="3"', ' opacity="0.65"'


class Look:
    """The current colors and attributes, as set by escape sequences."""

    def __init__(self, appearance: str):
        self.palette = ANSI[appearance].split()
        self.reset()

    def reset(self) -> None:
        self.color = self.background = None
        self.flags = frozenset()

    def read(self, parameters: str) -> None:
        """Applies the parameters of one SGR sequence (ECMA-48)."""
        numbers = [int(number or 0) for number in parameters.split(";")]
        while numbers:
            number = numbers.pop(0)
            if number == 0:
                self.reset()
            elif number in (1, 2, 3, 4, 9):
                self.flags |= {number}
            elif number in (38, 48):
                assert numbers.pop(0) == 2
                color = "#" + "".join(f"{numbers.pop(0):02x}" for _ in range(3))
                self.color, self.background = (color, self.background) if number == 38 else (self.color, color)
            else:
                for first, offset in ((30, 0), (90, 8)):
                    if first <= number < first + 8:
                        self.color = self.palette[number - first + offset]
                    elif first + 10 <= number < first + 18:
                        self.background = self.palette[number - first - 10 + offset]

    def key(self):
        return self.color, self.background, self.flags


def cells(output: str, appearance: str) -> list:
    """Returns rows of characters with their looks and columns."""
    look, rows = Look(appearance), [[]]
    for match in TOKEN.finditer(output):
        if match[1] is not None:
            look.read(match[1])
        elif match[2] == "\n":
            rows.append([])
        elif match[2] and unicodedata.combining(match[2]):
            character, *rest = rows[-1][-1]
            rows[-1][-1] = (character + match[2], *rest)
        elif match[2]:
            rows[-1].append((match[2], look.key(), 2 if unicodedata.east_asian_width(match[2]) in "WF" else 1))
    return rows


def number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def elements(rows: list, appearance: str, left: float = MARGIN, top: float = MARGIN) -> list[str]:
    """Returns the SVG elements of rows of characters. The first row begins at `left` and `top`."""
    ink = PAGES[appearance][1]
    back, lines, texts = [], {}, []
    for row, line in enumerate(rows):
        y, column, index = top + row * ROW, 0, 0
        while index < len(line):
            look, first, text = line[index][1], column, ""
            is_frame = line[index][0] in ARMS
            while index < len(line) and line[index][1] == look and (line[index][0] in ARMS) == is_frame:
                text += line[index][0]
                column += line[index][2]
                index += 1
            (color, background, flags), x = look, left + first * CELL
            if background:
                back.append(f'<rect x="{number(x)}" y="{number(y)}" width="{number((column - first) * CELL)}" '
                            f'height="{ROW}" fill="{background}"/>')
            if is_frame:
                for place, character in enumerate(text):
                    middle, center = x + (place + 0.5) * CELL, y + ROW / 2
                    path = lines.setdefault((color or ink, character in HEAVY, 2 in flags), [])
                    for arm, (dx, dy) in {"l": (-CELL / 2, 0), "r": (CELL / 2, 0), "u": (0, -ROW / 2), "d": (0, ROW / 2)}.items():
                        if arm in ARMS[character]:
                            path.append((middle, center, middle + dx, center + dy))
            elif text.strip() or 4 in flags:
                style = "".join((' font-weight="bold"' if 1 in flags else "", ' font-style="italic"' if 3 in flags else "",
                                 DIM if 2 in flags else ""))
                decoration = " ".join(name for flag, name in ((4, "underline"), (9, "line-through")) if flag in flags)
                style += f' text-decoration="{decoration}"' if decoration else ""
                style += f' fill="{color}"' if color else ""
                texts.append(f'<text x="{number(x)}" y="{number(y + 13.6)}" textLength="{number((column - first) * CELL)}"'
                             f"{style}>{escape(text.replace(' ', SPACE))}</text>")
    paths = [f'<path d="{"".join(f"M{number(a)} {number(b)}L{number(c)} {number(d)}" for a, b, c, d in joined(path))}" '
             f'stroke="{color}" fill="none"{HEAVY_STROKE if heavy else ""}{DIM if dim else ""}/>'
             for (color, heavy, dim), path in lines.items()]
    return [*back, *paths, *texts]


def joined(lines: list) -> list:
    """Joins strokes that touch and have the same direction."""
    result = []
    for along in (0, 1):
        strokes = sorted((*sorted((line[along], line[along + 2])), line[1 - along])
                         for line in lines if line[along] != line[along + 2])
        strokes.sort(key=lambda stroke: (stroke[2], stroke[0]))
        merged = []
        for start, end, place in strokes:
            if merged and merged[-1][2] == place and start <= merged[-1][1] + 0.01:
                merged[-1][1] = max(merged[-1][1], end)
            else:
                merged.append([start, end, place])
        result += [(a, p, b, p) if along == 0 else (p, a, p, b) for a, b, p in merged]
    return result


def document(width: float, height: float, appearance: str, parts: list[str]) -> str:
    """Returns an SVG file of these elements."""
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{number(width)}" height="{number(height)}" '
        f'viewBox="0 0 {number(width)} {number(height)}" font-family="{FONT}" font-size="{SIZE}" '
        f'fill="{PAGES[appearance][1]}" xml:space="preserve">', *parts, "</svg>\n"])


def page(width: float, height: float, appearance: str, top: float = 0) -> str:
    """Returns the rectangle behind the text. With it, the image looks the same on a light page and on a dark page."""
    background, _, edge = PAGES[appearance]
    return (f'<rect x="0.5" y="{number(top + 0.5)}" width="{number(width - 1)}" height="{number(height - 1)}" rx="8" '
            f'fill="{background}" stroke="{edge}"/>')


def drawing(output: str, appearance: str, columns: int) -> str:
    """Draws text with escape sequences for colors and hyperlinks, as a terminal of this width shows it."""
    rows = cells(output, appearance)
    width, height = columns * CELL + 2 * MARGIN, len(rows) * ROW + 2 * MARGIN
    return document(width, height, appearance, [page(width, height, appearance), *elements(rows, appearance)])


# MARK: The examples in articles

ARTICLE_COLUMNS = 46


def draw_examples(check: bool) -> int:
    """Draws the images of the articles, or returns 1 if one of them is out of date."""
    worker = Worker()
    stale = []
    for article in sorted(CATALOG.glob("*.md")):
        for name, sheet, document in examples(article.read_text(), "svg"):
            appearance = "dark" if name.endswith("-dark.svg") else "light"
            # 64: for a terminal, 128: with hyperlinks; 31: all extensions except smart punctuation, the default.
            options_byte = 64 + 31 + (0 if name.startswith("security") else 128)
            text = "\0".join([str(ARTICLE_COLUMNS), appearance, json.dumps(sheet), document])
            drawn, path = drawing(worker.render(text, options_byte), appearance, ARTICLE_COLUMNS), CATALOG / "Resources" / name
            if check and (not path.exists() or path.read_text() != drawn):
                stale.append(f"{path.relative_to(ROOT)} differs from the example in {article.name}: run Scripts/generate/terminal-images.py")
            elif not check:
                path.parent.mkdir(exist_ok=True)
                path.write_text(drawn)
    worker.close()
    print("\n".join(stale) if stale else "every image matches its example")
    return 1 if stale else 0


# MARK: The demo

DEMO_IMAGE, GET_IMAGE = ROOT / "docs/images/demo.svg", ROOT / "docs/images/get.svg"
DEMO_COLUMNS, LINES, SECONDS = 80, 24, 60
DEMO_APPEARANCE = "dark"
TITLE, BAR, GAP = 28, "#2c2c2e", 14
PROMPT = "$ "
# The size of each file that `sluice get` downloads for its image.
FILE_SIZE = 256 << 20
# A control sequence with its parameters and its last character (ECMA-48), or one other character.
SCREEN_TOKEN = re.compile(r"\x1b\[([0-9;?]*)([A-Za-z])|(.)", re.DOTALL)


class Screen:
    """The screen of a terminal that knows the control sequences of `TerminalSequence`, and the ones for colors."""

    def __init__(self):
        self.look = Look(DEMO_APPEARANCE)
        self.rows, self.row, self.column = [[]], 0, 0
        self.frames = []

    def write(self, text: str) -> None:
        for match in SCREEN_TOKEN.finditer(text):
            parameters, command, character = match.groups()
            if command is not None:
                self.control(parameters, command)
            elif character == "\r":
                self.column = 0
            elif character == "\n":
                self.next_row()
            elif character >= " ":
                self.put(character)
            else:
                raise SystemExit(f"The program wrote the control character {character!r}, which this script doesn't follow.")

    def control(self, parameters: str, command: str) -> None:
        if command == "m":
            self.look.read(parameters)
        elif command == "A":
            # The cursor goes up to redraw, so the frame on the screen is complete.
            self.frames.append(self.shown())
            self.row = max(0, self.row - int(parameters or 1))
        elif command in "JK" and parameters in ("", "0"):
            del self.rows[self.row][self.column:]
            if command == "J":
                del self.rows[self.row + 1:]
        elif parameters + command not in ("?25l", "?25h"):
            raise SystemExit(f"The program wrote the control sequence CSI {parameters}{command}, which this script doesn't follow.")

    def put(self, character: str) -> None:
        if self.column == DEMO_COLUMNS:
            self.column = 0
            self.next_row()
        row = self.rows[self.row]
        row += [(" ", (None, None, frozenset()), 1)] * (self.column - len(row))
        row[self.column:self.column + 1] = [(character, self.look.key(), 1)]
        self.column += 1

    def next_row(self) -> None:
        self.row += 1
        if self.row == len(self.rows):
            self.rows.append([])

    def shown(self) -> list:
        """Returns a copy of the rows, without empty ones at the end."""
        rows = [list(row) for row in self.rows]
        while rows and not rows[-1]:
            rows.pop()
        return rows


def run(program: pathlib.Path, arguments: list[str], place: str | None = None, urls: list[str] = []) -> str:
    """Returns everything that the program writes to the terminal. Its current directory has the list urls.txt."""
    with tempfile.TemporaryDirectory(dir=place) as directory:
        (pathlib.Path(directory) / "urls.txt").write_text("\n".join(urls))
        environment = {"PATH": os.defpath, "HOME": directory, "TMPDIR": directory, "TERM": "xterm-256color", "LANG": "C.UTF-8"}
        child, terminal = pty.fork()
        if child == 0:
            # The size is set here, because the parent might be too late.
            fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, DEMO_COLUMNS, 0, 0))
            os.chdir(directory)
            os.execve(program, ["sluice", *arguments], environment)
        output, deadline = b"", time.monotonic() + SECONDS
        while True:
            if not select.select([terminal], [], [], max(0, deadline - time.monotonic()))[0]:
                os.kill(child, signal.SIGKILL)
                break
            try:
                data = os.read(terminal, 1 << 16)
            except OSError:  # Linux reports the end of a pseudo-terminal as EIO.
                break
            if not data:
                break
            output += data
        os.close(terminal)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    text = output.decode()
    if status != 0:
        raise SystemExit(f"sluice {arguments[0]} ended with {status}, or took longer than {SECONDS} s:\n{text}")
    if path := re.search(r"(?<![\w:/.])/\w+/\S*", text):
        raise SystemExit(f"The output names a path of this machine: {path[0]}")
    return text


def middle(frames: list) -> list:
    """Of the frames with the most rows and the most bars, returns the one nearest to the middle of the download.

    The row of the total has no bar while its text is long.
    """
    def fullness(frame: list) -> tuple[int, int]:
        return sum(any(cell[0] in ARMS for cell in row) for row in frame), len(frame)

    most = max(map(fullness, frames), default=(0, 0))
    if most[0] == 0:
        raise SystemExit("The program drew no progress bars.")
    fullest = [index for index, frame in enumerate(frames) if fullness(frame) == most]
    return frames[min(fullest, key=lambda index: abs(index - len(frames) / 2))]


def window(title: str, rows: list, width: float, top: float) -> tuple[list[str], float]:
    """Returns the elements of a window with a title bar, and its lower end."""
    height = TITLE + len(rows) * ROW + 2 * MARGIN
    edge, right = PAGES[DEMO_APPEARANCE][2], width - 0.5
    bar = (f"M0.5 {number(top + TITLE)}V{number(top + 8.5)}a8 8 0 0 1 8 -8H{number(right - 8)}a8 8 0 0 1 8 8"
           f"V{number(top + TITLE)}Z")
    return [page(width, height, DEMO_APPEARANCE, top), f'<path d="{bar}" fill="{BAR}" stroke="{edge}"/>',
            f'<text x="{number(width / 2)}" y="{number(top + 18.5)}" text-anchor="middle" font-size="12.5" opacity="0.75">{title}</text>',
            *elements(rows, DEMO_APPEARANCE, MARGIN, top + TITLE + MARGIN)], top + height


@contextlib.contextmanager
def fast_server():
    """Starts nginx with files in memory, and yields their URLs."""
    with tempfile.TemporaryDirectory(dir="/dev/shm") as directory:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        os.chmod(directory, 0o755)
        names = [f"{name}.iso" for name in ("debian", "fedora", "alpine", "ubuntu", "arch", "mint", "gentoo", "nixos")]
        for name in names:
            with open(f"{directory}/{name}", "wb") as file:
                os.posix_fallocate(file.fileno(), 0, FILE_SIZE)
        configuration = f"{directory}/nginx.conf"
        pathlib.Path(configuration).write_text(
            f"daemon off; pid {directory}/pid; error_log {directory}/log; events {{}} http {{ access_log off; sendfile on;"
            f" server {{ listen 127.0.0.1:{port}; root {directory}; }} }}")
        server = subprocess.Popen(["nginx", "-c", configuration, "-e", f"{directory}/log"])
        try:
            while True:
                with socket.socket() as client:
                    if client.connect_ex(("127.0.0.1", port)) == 0:
                        break
                if server.poll() is not None:
                    raise SystemExit("nginx didn't start.")
                time.sleep(0.05)
            yield [f"http://127.0.0.1:{port}/{name}" for name in names]
        finally:
            server.terminate()
            server.wait()


def draw_get(program: pathlib.Path | None) -> int:
    """Draws the image of `sluice get`."""
    with fast_server() as urls:
        text = run(chosen(program), ["get", "-d", "isos", "-i", "urls.txt"], "/dev/shm", urls)
    return draw(text, "sluice get -d isos -i urls.txt", GET_IMAGE)


def draw_demo(program: pathlib.Path | None) -> int:
    """Draws the image of the demo."""
    return draw(run(chosen(program), ["demo"]), "sluice demo", DEMO_IMAGE)


def chosen(program: pathlib.Path | None) -> pathlib.Path:
    release = builds.SCRATCH / "release/sluice"
    program = program or (release if os.access(release, os.X_OK) else builds.program("sluice"))
    if not os.access(program, os.X_OK):
        sys.exit(f"{program} isn't a program.")
    return program.resolve()


def draw(text: str, command: str, image: pathlib.Path) -> int:
    screen = Screen()
    screen.write(PROMPT + command + "\r\n" + text)
    width = DEMO_COLUMNS * CELL + 2 * MARGIN
    upper, bottom = window("while it runs", middle(screen.frames), width, 0)
    lower, bottom = window("at the end", screen.shown(), width, bottom + GAP)
    image.parent.mkdir(parents=True, exist_ok=True)
    image.write_text(document(width, bottom, DEMO_APPEARANCE, upper + lower))
    print(f"{image.relative_to(ROOT)} is drawn: {len(screen.frames)} frames were shown")
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--check", action="store_true", help="write nothing, and compare with the existing images")
    group.add_argument("--demo", type=pathlib.Path, nargs="?", const=pathlib.Path(), metavar="PROGRAM", help="draw `sluice demo`")
    group.add_argument("--get", type=pathlib.Path, nargs="?", const=pathlib.Path(), metavar="PROGRAM", help="draw `sluice get`")
    options = parser.parse_args()
    if options.get is not None:
        return draw_get(options.get if options.get.name else None)
    if options.demo is not None:
        return draw_demo(options.demo if options.demo.name else None)
    return draw_examples(options.check)


if __name__ == "__main__":
    sys.exit(main())
