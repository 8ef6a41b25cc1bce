#!/usr/bin/env python3
"""Passes connections on to a server, and delays the bytes in each direction, as a distant server does. For the rows get/ of the benchmarks.

    delaying-relay.py PORT TARGET MILLISECONDS

Listens on a port of 127.0.0.1 and connects to another one. Bytes keep their order and arrive that many milliseconds later, those of a new
connection another round trip later, which the handshake of TCP would take. The bandwidth isn't limited: all that arrives is taken at once,
and kept until it is due.
"""

import asyncio
import contextlib
import sys


async def pass_on(reader, writer, delay, extra):
    loop = asyncio.get_running_loop()
    due = 0

    def later(action, *arguments):
        nonlocal due, extra
        # Never at the same time as what came before, so that the order is kept.
        due = max(loop.time() + delay + extra, due + 1e-6)
        extra = 0
        loop.call_at(due, action, *arguments)

    with contextlib.suppress(OSError):
        while data := await reader.read(1 << 18):
            later(writer.write, data)
    later(writer.close)


async def main(port, target, delay):
    async def accepted(reader, writer):
        try:
            server = await asyncio.open_connection("127.0.0.1", target)
        except OSError:
            return writer.close()
        await asyncio.gather(pass_on(reader, server[1], delay, 2 * delay), pass_on(server[0], writer, delay, 0))

    async with await asyncio.start_server(accepted, "127.0.0.1", port, backlog=1024) as listener:
        await listener.serve_forever()


asyncio.run(main(int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]) / 1000))
