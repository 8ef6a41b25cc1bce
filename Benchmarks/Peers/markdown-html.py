#!/usr/bin/env python3
"""Times pulldown-cmark in process, through the Python package pyromark, for the rows markdown/ of the benchmarks.

    markdown-html.py FILE REPORT

Parses the file and renders it as HTML, once untimed and once timed. Writes the seconds, the processor seconds and the bytes of the HTML to
REPORT. The timed call ends with Python's copy of the HTML. `Scripts/run-benchmarks.sh --install-peers` installs the package.
"""

import sys
import time

import pyromark


def main():
    file, report = sys.argv[1:]
    with open(file, encoding="utf-8", newline="") as input:
        text = input.read()
    pyromark.html(text)
    processor, began = time.process_time(), time.perf_counter()
    html = pyromark.html(text)
    seconds, processor_seconds = time.perf_counter() - began, time.process_time() - processor
    with open(report, "w") as output:
        output.write(f"{seconds} {processor_seconds} {len(html.encode())}\n")


main()
