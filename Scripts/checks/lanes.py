#!/usr/bin/env python3
"""Watches reads with strace and fails if they do not run on the lane that counts them.

    Scripts/check-lanes.py                                # builds the worker first
    Scripts/check-lanes.py --worker .build/debug/FileWorker

With each setting of SLUICE_FILES_LANES, eight blocks of a file that is in memory are read, and a pipe that is empty at first.
The lane's counter must have moved, those of the others not, and strace must have seen the lane's system calls and no other's:

    inline       preadv2 with RWF_NOWAIT, on the thread that asks
    pool         read or pread64, on another thread
    readiness    epoll_wait (or poll), and no read of the pipe that could block

Ends with 0 if so, and with 1 if not. Where the file system or the kernel has no RWF_NOWAIT, or there is no strace, it says what it
skips; with --require that is an error too.
"""
import os, re, sys, tempfile

from straced import arguments, traced, worker as find_worker

CALLS = "read,pread64,preadv,preadv2,epoll_wait,epoll_pwait,epoll_pwait2,epoll_ctl,poll,ppoll"


def numbers(output: str, what: str) -> dict[str, int]:
    found = re.search(rf"^{what} (\d+) (\d+) (\d+)$", output, re.M)
    if not found:
        sys.exit(f"check-lanes: the worker said nothing of {what}: {output}")
    return dict(zip(("inline", "pool", "readiness"), map(int, found.groups())))


def seen(calls: list[str]) -> dict[str, int]:
    """How often each lane's own call did its work."""
    blocks = [call for call in calls if re.search(r"^p?read\w*\(\d+<[^>]*/blocks>", call)]
    pipes = [call for call in calls if "<pipe:" in call]
    return {
        "inline": sum(1 for c in blocks if c.startswith("preadv2") and "RWF_NOWAIT" in c and c.endswith("= 4096")),
        "refused": sum(1 for c in blocks if "EOPNOTSUPP" in c or "ENOSYS" in c),
        "pool": sum(1 for c in blocks if c.startswith(("read(", "pread64(")) and c.endswith("= 4096")),
        "waits": sum(1 for c in calls if re.match(r"(epoll_p?wait2?|p?poll)\(", c) and re.search(r"\d+<pipe:|EPOLLIN|POLLIN", c)),
        "blocking": sum(1 for c in pipes if re.match(r"read\(", c) and '"bytes"' in c),
    }


def main() -> int:
    given = arguments(__doc__)
    worker = find_worker(given.worker)
    failed = False
    for setting in ("", "pool", "inline", "readiness,pool"):
        with tempfile.TemporaryDirectory(prefix="sluice-lanes-") as folder:
            folder = os.path.realpath(folder)
            calls, output = traced([str(worker), "lanes", folder], CALLS, {"SLUICE_FILES_LANES": setting})
        found = seen(calls)
        blocks, pipe = numbers(output, "blocks"), numbers(output, "pipe")
        isInline = setting in ("", "inline")
        wrong = []
        if isInline and found["refused"]:
            reason = f"{folder} has no reads that do not wait (set TMPDIR to a directory on a disk)"
            if given.require:
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
    return 1 if failed else 0


sys.exit(main())
