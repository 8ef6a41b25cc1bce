#!/usr/bin/env python3
"""Times disk hits in a Python cache, for the rows cache/ of the benchmarks.

    cache-hits.py PEER DIRECTORY SIZE ENTRIES PASSES REPORT

Stores the entries, looks all of them up once, which isn't timed, and then PASSES times. Writes the seconds, the processor seconds and the
bytes of the counted lookups to REPORT. `Scripts/run-benchmarks.sh --install-peers` installs the packages.
"""

import os
import sys
import time


def with_diskcache(directory, body, entries):
    """diskcache with its defaults: bodies of at least 32 KiB in files, smaller ones in SQLite. It doesn't know HTTP."""
    import diskcache

    cache = diskcache.Cache(os.path.join(directory, "diskcache"))
    urls = [f"https://example.com/pictures/large/{number}.jpeg" for number in range(entries)]
    for url in urls:
        cache.set(url, body)
    return urls, lambda url: len(cache.get(url))


def with_hishel(directory, body, entries):
    """hishel below httpx, with its default storage (SQLite) and the rules of RFC 9111. The responses don't come from a network."""
    import hishel
    import httpx
    from hishel.httpx import CacheTransport

    fetched = 0

    def answer(request):
        nonlocal fetched
        fetched += 1
        return httpx.Response(200, headers={"Cache-Control": "max-age=31536000"}, content=body)

    storage = hishel.SqliteStorage(database_path=os.path.join(directory, "hishel.db"))
    client = httpx.Client(transport=CacheTransport(httpx.MockTransport(answer), storage=storage, rfc=True))
    urls = [f"https://example.com/pictures/large/{number}.jpeg" for number in range(entries)]
    for url in urls:
        client.get(url)

    def look_up(url):
        count = len(client.get(url).content)
        if fetched != entries:
            sys.exit(f"hishel fetched {fetched} responses instead of {entries}")
        return count

    return urls, look_up


def main():
    peer, directory, size, entries, passes, report = sys.argv[1:]
    prepare = {"diskcache": with_diskcache, "hishel": with_hishel}[peer]
    urls, look_up = prepare(directory, os.urandom(int(size)), int(entries))
    for url in urls:
        look_up(url)
    count = 0
    processor, began = time.process_time(), time.perf_counter()
    for _ in range(int(passes)):
        for url in urls:
            count += look_up(url)
    seconds, processor_seconds = time.perf_counter() - began, time.process_time() - processor
    with open(report, "w") as file:
        file.write(f"{seconds} {processor_seconds} {count}\n")


main()
