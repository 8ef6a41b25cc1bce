#!/usr/bin/env python3
"""Watches an atomic replacement with strace and fails if its system calls come in another order than was promised.

    Scripts/check-atomic-order.py                                # builds the worker first
    Scripts/check-atomic-order.py --worker .build/debug/FileWorker

For each durability, with a unique temporary name and a chosen one: the bytes are written, then synced (fdatasync or fsync by
level), then the name is given by one rename, then the folder is synced (at `fullAndDirectory`); nothing is ever linked or
unlinked. In a tour through all kinds of operations, every descriptor is opened so that child processes do not inherit it.

Ends with 0 if so, and with 1 if not. Without strace, or where it may not trace, it says `skipped` and ends with 0, or with 1 if
--require was passed.
"""
import os, pathlib, re, sys, tempfile

from straced import arguments, joined, traced, worker as find_worker

LEVELS = {"none": None, "data": "fdatasync", "full": "fsync", "fullAndDirectory": "fsync"}
OPENS = "open,openat,openat2,creat,socket,socketpair,accept,accept4,pipe,pipe2,eventfd,eventfd2,epoll_create,epoll_create1,"
OPENS += "inotify_init,inotify_init1,timerfd_create,signalfd4,memfd_create,dup,dup2,dup3,fcntl"
CHANGES = "write,pwrite64,writev,pwritev,pwritev2,fsync,fdatasync,sync_file_range,rename,renameat,renameat2,link,linkat,unlink,"
CHANGES += "unlinkat,fchmod,ftruncate,close"

# What the C library, Dispatch and the Swift runtime open for themselves.
THEIRS = re.compile(r'"/proc/(self|\d+)/(maps|stat|status|task)\b')


def steps(calls: list[str], folder: str) -> list[tuple[str, str]]:
    """The calls that succeeded on something in the folder, or on the folder: ("rename", "temporary"), ("fsync", "folder")."""
    found = []
    for call in calls:
        name = call.split("(", 1)[0]
        # The descriptors that strace names, and the paths that are given.
        paths = [path for path in re.findall(r"\d+<([^>]*)>|\"([^\"]*)\"", call.split(" = ")[0]) for path in path if path]
        inside = [path for path in paths if path == folder or path.startswith(folder + "/")]
        if not inside or re.search(r" = -1 ", call):
            continue
        path = inside[0]
        what = "folder" if path == folder else "file" if path == folder + "/file" else "temporary"
        found.append((name, what))
    return found


def complaints(found: list[tuple[str, str]], level: str) -> list[str]:
    """What is wrong with the order of a replacement at this level."""
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
        wrong.append("syncs, and was not asked to")
    folders = [place for place, step in enumerate(found) if step == ("fsync", "folder")]
    if (level == "fullAndDirectory") != bool(folders):
        wrong.append("does not sync the folder" if not folders else "syncs the folder, and was not asked to")
    elif folders and folders[0] < renames[0]:
        wrong.append("syncs the folder before the rename")
    return wrong


def inherited(calls: list[str]) -> list[str]:
    """The calls whose descriptors a child process would inherit."""
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
    """A check that finds nothing wrong with a wrong order checks nothing."""
    right = [("openat", "temporary"), ("write", "temporary"), ("fsync", "temporary"), ("close", "temporary"),
             ("rename", "temporary"), ("openat", "folder"), ("fsync", "folder"), ("close", "folder")]
    assert complaints(right, "fullAndDirectory") == []
    assert complaints(right[:5], "full") == []
    wrong = [
        [right[0], right[2], right[1], *right[3:]],                      # sync, then write
        [*right[:2], *right[3:]],                                        # no sync
        [*right[:2], right[4], right[2], *right[5:]],                    # rename, then sync
        [*right[:4], right[6], right[4]],                                # the folder, then the rename
        right[:5],                                                       # no folder
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


def main() -> int:
    given = arguments(__doc__)
    test_this_script()
    worker = find_worker(given.worker)

    failed = False
    with tempfile.TemporaryDirectory(prefix="sluice-order-") as parent:
        parent = os.path.realpath(parent)
        for level in LEVELS:
            for name in ("-", "file.part"):
                folder = f"{parent}/{level}{name}"
                os.mkdir(folder)
                pathlib.Path(f"{folder}/file").write_text("old")
                calls, _ = traced([str(worker), "replace", f"{folder}/file", level, name], f"{OPENS},{CHANGES}")
                found = steps(calls, folder)
                wrong = complaints(found, level) + [f"is inherited: {call}" for call in inherited(calls)]
                if pathlib.Path(f"{folder}/file").read_text() != "n" * 5000:
                    wrong.append("did not replace the file")
                shown = " ".join(f"{step} {what}" if what != "temporary" else step for step, what in found)
                print(f"{'WRONG' if wrong else 'right'}: {level}, {'unique name' if name == '-' else name}: {shown}")
                for complaint in wrong:
                    print(f"       {complaint}")
                failed = failed or bool(wrong)
        folder = f"{parent}/tour"
        os.mkdir(folder)
        calls, _ = traced([str(worker), "tour", folder], OPENS)
        wrong = inherited(calls)
        opened = sum(1 for call in calls if re.match(r"open", call) and folder in call)
        print(f"{'WRONG' if wrong else 'right'}: tour: {opened} opens, {len(calls)} calls, {len(wrong)} inherited")
        for call in wrong:
            print(f"       {call}")
        failed = failed or bool(wrong) or opened < 10
    return 1 if failed else 0


sys.exit(main())
