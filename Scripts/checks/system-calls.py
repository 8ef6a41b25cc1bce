#!/usr/bin/env python3
"""Proves, with strace, that SluiceFiles makes the documented system calls.

    swift build --product FileWorker
    Scripts/checks/system-calls.py
    Scripts/checks/system-calls.py --require     # fail if strace is missing or may not trace

Atomic replacement: for each durability, with a unique temporary name and a chosen one, the worker writes the bytes, syncs them (fdatasync
or fsync, depending on the durability), renames the file once, and syncs the directory (at `fullAndDirectory`). It never links or unlinks.
In a tour of all kinds of operations, it opens every descriptor so that child processes don't inherit it.

Lanes: with each setting of SLUICE_FILES_LANES, the worker reads eight blocks of a cached file, and a pipe that is empty at first. Only the
counter of the expected lane may change, and strace must see the system calls of this lane and of no other:

    inline       preadv2 with RWF_NOWAIT, on the calling thread
    pool         read or pread64, on another thread
    readiness    epoll_wait (or poll), and no read of the pipe that could block

If the file system or the kernel lacks RWF_NOWAIT, or strace is missing, the script names the skipped parts; with --require it fails.
"""
import argparse, os, pathlib, re, shutil, subprocess, sys, tempfile
from typing import NoReturn

from builds import program

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--require", action="store_true", help="fail if strace is missing or may not trace")
IS_REQUIRED = parser.parse_args().require

# MARK: strace


def skip(reason: str) -> NoReturn:
    """Ends the script because it can't check anything on this system."""
    if IS_REQUIRED:
        sys.exit(f"not checked, and --require was passed: {reason}")
    print(f"skipped: {reason}")
    sys.exit(0)


def traced(command: list[str], calls: str, environment: dict[str, str] = {}) -> tuple[list[str], str]:
    """Returns the calls of a program and its threads in the order in which they start, such as `fsync(4</tmp/x>) = 0`, and its output."""
    with tempfile.NamedTemporaryFile(suffix=".strace") as log:
        result = subprocess.run(["strace", "-f", "-y", "-s", "256", "-e", f"trace={calls}", "-o", log.name, *command],
                                capture_output=True, text=True, env={**os.environ, **environment})
        lines = pathlib.Path(log.name).read_text(errors="replace").splitlines()
    if "ptrace" in result.stderr and "not permitted" in result.stderr:
        skip(f"strace may not trace here: {result.stderr.strip().splitlines()[0]}")
    if result.returncode != 0:
        sys.exit(f"{' '.join(command)} ended with {result.returncode}: {result.stderr[-600:]}")
    return joined(lines), result.stdout


def joined(lines: list[str]) -> list[str]:
    """Joins `unfinished` and `resumed` halves, at the place of the first half."""
    calls: list[str] = []
    begun: dict[tuple[str, str], int] = {}
    for line in lines:
        match = re.match(r"(\d+)\s+(.*)", line)
        if not match:
            continue
        thread, text = match.groups()
        if half := re.match(r"(\w+)(\(.*) <unfinished \.\.\.>$", text):
            begun[thread, half[1]] = len(calls)
            calls.append(half[1] + half[2])
        elif rest := re.match(r"<\.\.\. (\w+) resumed>(.*)$", text):
            if (place := begun.pop((thread, rest[1]), None)) is not None:
                calls[place] += rest[2]
        elif re.match(r"\w+\(", text):
            calls.append(text)
    return calls


# MARK: The order of an atomic replacement

LEVELS = {"none": None, "data": "fdatasync", "full": "fsync", "fullAndDirectory": "fsync"}
OPENS = "open,openat,openat2,creat,socket,socketpair,accept,accept4,pipe,pipe2,eventfd,eventfd2,epoll_create,epoll_create1,"
OPENS += "inotify_init,inotify_init1,timerfd_create,signalfd4,memfd_create,dup,dup2,dup3,fcntl"
CHANGES = "write,pwrite64,writev,pwritev,pwritev2,fsync,fdatasync,sync_file_range,rename,renameat,renameat2,link,linkat,unlink,"
CHANGES += "unlinkat,fchmod,ftruncate,close"

# Files that the C library, Dispatch and the Swift runtime open.
THEIRS = re.compile(r'"/proc/(self|\d+)/(maps|stat|status|task)\b')


def steps(calls: list[str], directory: str) -> list[tuple[str, str]]:
    """Returns the successful calls on files in the directory and on the directory: ("rename", "temporary"), ("fsync", "directory")."""
    found = []
    for call in calls:
        name = call.split("(", 1)[0]
        # The paths that strace shows for descriptors, and the arguments that are themselves paths.
        paths = [path for path in re.findall(r"\d+<([^>]*)>|\"([^\"]*)\"", call.split(" = ")[0]) for path in path if path]
        inside = [path for path in paths if path == directory or path.startswith(directory + "/")]
        if not inside or re.search(r" = -1 ", call):
            continue
        path = inside[0]
        what = "directory" if path == directory else "file" if path == directory + "/file" else "temporary"
        found.append((name, what))
    return found


def complaints(found: list[tuple[str, str]], level: str) -> list[str]:
    """Returns the errors in the order of a replacement at this level."""
    wrong = []
    names = [name for name, _ in found]
    renames = [place for place, (name, _) in enumerate(found) if name.startswith("rename")]
    writes = [place for place, (name, _) in enumerate(found) if "write" in name]
    syncs = [place for place, step in enumerate(found) if step == (LEVELS[level], "temporary")]
    others = [name for name in names if "link" in name]
    if others:
        wrong.append(f"uses {others}")
    if len(renames) != 1 or found[renames[0]][1] != "temporary":
        return wrong + [f"is not one rename of the temporary file: {found}"]
    if not writes or any(found[place][1] != "temporary" for place in writes):
        wrong.append("does not write into the temporary file alone")
    if writes and max(writes) > renames[0]:
        wrong.append("writes after the rename")
    if LEVELS[level]:
        if not syncs:
            wrong.append(f"has no {LEVELS[level]} of the file")
        elif writes and syncs[0] < max(writes):
            wrong.append("writes after the sync")
        elif syncs[0] > renames[0]:
            wrong.append("syncs after the rename")
    elif any("sync" in name for name in names):
        wrong.append("syncs, although the durability is none")
    directories = [place for place, step in enumerate(found) if step == ("fsync", "directory")]
    if (level == "fullAndDirectory") != bool(directories):
        wrong.append("does not sync the directory" if not directories else "syncs the directory, although the durability does not ask for it")
    elif directories and directories[0] < renames[0]:
        wrong.append("syncs the directory before the rename")
    return wrong


def inherited(calls: list[str]) -> list[str]:
    """Returns the calls that open a descriptor which a child process would inherit."""
    wrong = []
    for call in calls:
        name = call.split("(", 1)[0]
        if re.search(r" = -1 ", call) or " = " not in call or THEIRS.search(call):
            continue
        if name == "fcntl":
            if "F_DUPFD," in call:
                wrong.append(call)
        elif name in OPENS.split(",") and "CLOEXEC" not in call:
            wrong.append(call)
    return wrong


def test_this_script() -> None:
    """Proves that the check detects wrong orders."""
    right = [("openat", "temporary"), ("write", "temporary"), ("fsync", "temporary"), ("close", "temporary"),
             ("rename", "temporary"), ("openat", "directory"), ("fsync", "directory"), ("close", "directory")]
    assert complaints(right, "fullAndDirectory") == []
    assert complaints(right[:5], "full") == []
    wrong = [
        [right[0], right[2], right[1], *right[3:]],                      # sync, then write
        [*right[:2], *right[3:]],                                        # no sync
        [*right[:2], right[4], right[2], *right[5:]],                    # rename, then sync
        [*right[:4], right[6], right[4]],                                # sync of the directory, then rename
        right[:5],                                                       # no sync of the directory
        [*right[:4], ("unlink", "file"), *right[4:]],                    # unlinked first
        [*right[:4], ("unlink", "file"), ("link", "temporary"), *right[5:]],
        [right[0], ("write", "file"), *right[2:]],                       # written in place
        [*right, ("write", "file")],
    ]
    for order in wrong:
        assert complaints(order, "fullAndDirectory"), order
    assert complaints(right[:5], "data") and complaints(right[:5], "none")
    halves = ["7 fsync(4</x> <unfinished ...>", "8 close(5</y>) = 0", "7 <... fsync resumed>) = 0"]
    assert joined(halves) == ["fsync(4</x>) = 0", "close(5</y>) = 0"]
    assert inherited(['openat(AT_FDCWD</>, "/x", O_RDONLY) = 3</x>', 'openat(AT_FDCWD</>, "/x", O_RDONLY|O_CLOEXEC) = 3</x>',
                      'open("/y", O_RDONLY) = -1 ENOENT', "dup(3</x>) = 4</x>", "fcntl(3, F_DUPFD, 0) = 4"]) == [
        'openat(AT_FDCWD</>, "/x", O_RDONLY) = 3</x>', "dup(3</x>) = 4</x>", "fcntl(3, F_DUPFD, 0) = 4"]


def check_order(worker: pathlib.Path) -> bool:
    failed = False
    with tempfile.TemporaryDirectory(prefix="sluice-order-") as parent:
        parent = os.path.realpath(parent)
        for level in LEVELS:
            for name in ("-", "file.part"):
                directory = f"{parent}/{level}{name}"
                os.mkdir(directory)
                pathlib.Path(f"{directory}/file").write_text("old")
                calls, _ = traced([str(worker), "replace", f"{directory}/file", level, name], f"{OPENS},{CHANGES}")
                found = steps(calls, directory)
                wrong = complaints(found, level) + [f"is inherited: {call}" for call in inherited(calls)]
                if pathlib.Path(f"{directory}/file").read_text() != "n" * 5000:
                    wrong.append("did not replace the file")
                shown = " ".join(f"{step} {what}" if what != "temporary" else step for step, what in found)
                print(f"{'WRONG' if wrong else 'right'}: {level}, {'unique name' if name == '-' else name}: {shown}")
                for complaint in wrong:
                    print(f"       {complaint}")
                failed = failed or bool(wrong)
        directory = f"{parent}/tour"
        os.mkdir(directory)
        calls, _ = traced([str(worker), "tour", directory], OPENS)
        wrong = inherited(calls)
        opened = sum(1 for call in calls if re.match(r"open", call) and directory in call)
        print(f"{'WRONG' if wrong else 'right'}: tour: {opened} opens, {len(calls)} calls, {len(wrong)} inherited")
        for call in wrong:
            print(f"       {call}")
        failed = failed or bool(wrong) or opened < 10
    return not failed


# MARK: Lanes

READS = "read,pread64,preadv,preadv2,epoll_wait,epoll_pwait,epoll_pwait2,epoll_ctl,poll,ppoll"


def numbers(output: str, what: str) -> dict[str, int]:
    found = re.search(rf"^{what} (\d+) (\d+) (\d+)$", output, re.M)
    if not found:
        sys.exit(f"the worker said nothing of {what}: {output}")
    return dict(zip(("inline", "pool", "readiness"), map(int, found.groups())))


def seen(calls: list[str]) -> dict[str, int]:
    """Returns the number of successful calls of each lane."""
    blocks = [call for call in calls if re.search(r"^p?read\w*\(\d+<[^>]*/blocks>", call)]
    pipes = [call for call in calls if "<pipe:" in call]
    return {
        "inline": sum(1 for c in blocks if c.startswith("preadv2") and "RWF_NOWAIT" in c and c.endswith("= 4096")),
        "refused": sum(1 for c in blocks if "EOPNOTSUPP" in c or "ENOSYS" in c),
        "pool": sum(1 for c in blocks if c.startswith(("read(", "pread64(")) and c.endswith("= 4096")),
        "waits": sum(1 for c in calls if re.match(r"(epoll_p?wait2?|p?poll)\(", c) and re.search(r"\d+<pipe:|EPOLLIN|POLLIN", c)),
        "blocking": sum(1 for c in pipes if re.match(r"read\(", c) and '"bytes"' in c),
    }


def check_lanes(worker: pathlib.Path) -> bool:
    failed = False
    for setting in ("", "pool", "inline", "readiness,pool"):
        with tempfile.TemporaryDirectory(prefix="sluice-lanes-") as directory:
            directory = os.path.realpath(directory)
            calls, output = traced([str(worker), "lanes", directory], READS, {"SLUICE_FILES_LANES": setting})
        found = seen(calls)
        blocks, pipe = numbers(output, "blocks"), numbers(output, "pipe")
        isInline = setting in ("", "inline")
        wrong = []
        if isInline and found["refused"]:
            reason = f"{directory} lacks RWF_NOWAIT (set TMPDIR to a directory on a disk)"
            if IS_REQUIRED:
                wrong.append(f"inline was not checked, and --require was passed: {reason}")
            else:
                print(f"skipped: inline: {reason}")
        elif blocks != ({"inline": 8, "pool": 0, "readiness": 0} if isInline else {"inline": 0, "pool": 8, "readiness": 0}):
            wrong.append(f"the blocks were counted as {blocks}")
        elif (found["inline"], found["pool"]) != ((8, 0) if isInline else (0, 8)):
            wrong.append(f"strace saw {found}")
        if pipe["readiness"] != 1 or pipe["pool"] or pipe["inline"]:
            wrong.append(f"the pipe was counted as {pipe}")
        if not found["waits"]:
            wrong.append("no thread waited for the pipe in epoll_wait or poll")
        if found["blocking"]:
            wrong.append("the pipe was read with a call that may block")
        print(f"{'WRONG' if wrong else 'right'}: {setting or 'all lanes'}: blocks {blocks}, pipe {pipe}; strace {found}")
        for complaint in wrong:
            print(f"       {complaint}")
        failed = failed or bool(wrong)
    return not failed


if not shutil.which("strace"):
    skip("strace is missing; install the package strace")
test_this_script()
worker = program("FileWorker")
# Both run, even if the first fails.
results = [check_order(worker), check_lanes(worker)]
sys.exit(0 if all(results) else 1)
