#!/usr/bin/env python3
"""Runs `sluice demo` in a pseudo-terminal of 80 columns, and draws its screen for the documentation.

    swift build -c release --product sluice
    Scripts/generate/demo-image.py                   # draws docs/images/demo.svg
    Scripts/generate/demo-image.py --program PATH    # runs another build

The default program is that of the directory that SLUICE_SCRATCH names, `.build` by default: its release build, or else its
debug build. The upper half of the image is a frame from the middle of the download, the lower half the screen at the end.
There is no --check: the times and speeds differ from run to run.
"""
import argparse, fcntl, os, pathlib, pty, re, select, signal, struct, sys, tempfile, termios, time

from terminal_drawing import ARMS, CELL, MARGIN, PAGES, ROW, Look, document, elements, number, page

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "Scripts/checks"))
import builds

IMAGE = ROOT / "docs/images/demo.svg"
COLUMNS, LINES, SECONDS = 80, 24, 60
APPEARANCE = "dark"
TITLE, BAR, GAP = 28, "#2c2c2e", 14
COMMAND = "$ sluice demo\r\n"
# A control sequence with its parameters and its last character (ECMA-48), or one other character.
TOKEN = re.compile(r"\x1b\[([0-9;?]*)([A-Za-z])|(.)", re.DOTALL)


class Screen:
    """The screen of a terminal that knows the control sequences of `TerminalSequence`, and those for colors."""

    def __init__(self):
        self.look = Look(APPEARANCE)
        self.rows, self.row, self.column = [[]], 0, 0
        self.frames = []

    def write(self, text: str) -> None:
        for match in TOKEN.finditer(text):
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
        if self.column == COLUMNS:
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


def run(program: pathlib.Path) -> str:
    """Returns everything that the demo writes to the terminal."""
    with tempfile.TemporaryDirectory() as directory:
        environment = {"PATH": os.defpath, "HOME": directory, "TMPDIR": directory, "TERM": "xterm-256color", "LANG": "C.UTF-8"}
        child, terminal = pty.fork()
        if child == 0:
            # The size is set here, because the parent might be too late.
            fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))
            os.chdir(directory)
            os.execve(program, ["sluice", "demo"], environment)
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
        raise SystemExit(f"{program} demo ended with {status}, or took longer than {SECONDS} s:\n{text}")
    if path := re.search(r"(?<![\w:/.])/\w+/\S*", text):
        raise SystemExit(f"The output names a path of this machine: {path[0]}")
    return text


def middle(frames: list) -> list:
    """Returns one of the fullest frames, those with the most rows and the most bars: the one nearest to the middle of the download.

    The total's row has no bar while its text is long.
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
    edge, right = PAGES[APPEARANCE][2], width - 0.5
    bar = (f"M0.5 {number(top + TITLE)}V{number(top + 8.5)}a8 8 0 0 1 8 -8H{number(right - 8)}a8 8 0 0 1 8 8"
           f"V{number(top + TITLE)}Z")
    return [page(width, height, APPEARANCE, top), f'<path d="{bar}" fill="{BAR}" stroke="{edge}"/>',
            f'<text x="{number(width / 2)}" y="{number(top + 18.5)}" text-anchor="middle" font-size="12.5" opacity="0.75">{title}</text>',
            *elements(rows, APPEARANCE, MARGIN, top + TITLE + MARGIN)], top + height


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=pathlib.Path, help="the `sluice` to run")
    program = parser.parse_args().program
    if program is None:
        release = builds.SCRATCH / "release/sluice"
        program = release if os.access(release, os.X_OK) else builds.program("sluice")
    elif not os.access(program, os.X_OK):
        parser.error(f"{program} isn't a program.")
    screen = Screen()
    screen.write(COMMAND + run(program.resolve()))
    width = COLUMNS * CELL + 2 * MARGIN
    upper, bottom = window("while it runs", middle(screen.frames), width, 0)
    lower, bottom = window("at the end", screen.shown(), width, bottom + GAP)
    IMAGE.parent.mkdir(parents=True, exist_ok=True)
    IMAGE.write_text(document(width, bottom, APPEARANCE, upper + lower))
    print(f"{IMAGE.relative_to(ROOT)} is drawn: {len(screen.frames)} frames were shown")


if __name__ == "__main__":
    main()
