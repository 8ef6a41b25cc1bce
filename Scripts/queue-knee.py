#!/usr/bin/env python3
"""Shows how many workers one queue in PostgreSQL can serve: the number from which more workers no longer make more exchanges.

    swift build --traits PostgreSQL
    Scripts/checks/postgres.sh Scripts/queue-knee.py --json knee.json

An exchange settles a worker's jobs and claims others, in one transaction that holds the queue's lock. The script first measures the time c
of an exchange, with 8 connections that do nothing else. Then up to 1,000 workers run, each with a connection through pgbouncer. After each
exchange, a worker pauses for as long as a transfer takes. The knee is where the workers want more exchanges than 1/c per second.

The store calls an exchange a turn (`QueueStore.takeTurn`). The script calls the store's own functions, in one round trip. `sluice queue
add` creates the tables.
"""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
LANES = 64

EXCHANGE = r"""
\set token random(1, 4000000000000000000)
BEGIN\;
SET LOCAL search_path = sluice\;
SELECT pg_advisory_xact_lock(1)\;
SELECT count(*) FROM (
    SELECT array_agg(id) AS jobs, array_agg(token) AS tokens, ARRAY[count(*)::int] AS number FROM job
    WHERE queue = QUEUE AND state = 1 AND worker = 'worker ' || :client_id) AS held
CROSS JOIN LATERAL settle(QUEUE, NULL, false, jobs, tokens, array_fill(2::int8, number), array_fill(1::int8, number),
    array_fill(NULL::text, number), array_fill(NULL::text, number), array_fill(1::int8, number),
    array_fill(0::int8, number), array_fill(0::int8, number)) WHERE jobs IS NOT NULL\;
SELECT count(*) FROM claim(QUEUE, NULL, false, 'worker ' || :client_id, BATCH, 1000000, NULL, NULL, 3600000, NULL, false, '',
    :token)\;
SELECT due FROM outlook(QUEUE, NULL, NULL)\;
COMMIT;
"""

FILL = """
SET search_path = sluice;
SELECT count(*) FROM enqueue({queue}, NULL, '', false,
    ARRAY(SELECT 'https://h' || i % {lanes} || '.example/' || i FROM generate_series({start}, {start} + 9999) AS i),
    array_fill('file:///music/'::text, ARRAY[10000]),
    ARRAY(SELECT i::text FROM generate_series({start}, {start} + 9999) AS i),
    ARRAY(SELECT ('/music/' || i)::bytea FROM generate_series({start}, {start} + 9999) AS i),
    ARRAY(SELECT 'h' || i % {lanes} || '.example' FROM generate_series({start}, {start} + 9999) AS i),
    array_fill(''::text, ARRAY[10000]), array_fill(false, ARRAY[10000]), array_fill(''::text, ARRAY[10000]),
    array_fill(0::int8, ARRAY[10000]));
"""


class Queue:
    def __init__(self, url, pooler, sluice):
        self.url, self.pooler = url, pooler
        self.filled = 0
        if self.sql("SELECT to_regclass('sluice.queue') IS NULL") == "t":
            # Creates the tables. No worker runs this job's queue.
            if subprocess.run([sluice, "queue", "add", "--db", url, "-d", "knee", "https://host.example/knee"],
                              stdout=subprocess.DEVNULL).returncode:
                sys.exit(f"{sluice} failed. Build it with --traits PostgreSQL, or name another one with --sluice.")
        self.number = int(self.sql(
            "INSERT INTO sluice.queue (name, channel) VALUES ('knee ' || clock_timestamp(), 'knee') RETURNING number"))

    def sql(self, text):
        command = ["psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", self.url]
        return subprocess.run(command, input=text, check=True, text=True, stdout=subprocess.PIPE).stdout.strip()

    def waiting(self):
        return int(self.sql(f"SELECT count(*) FROM sluice.job WHERE queue = {self.number} AND state = 0"))

    def fill(self, count):
        """Adds jobs until at least `count` are waiting."""
        for _ in range(-(-(count - self.waiting()) // 10_000)):
            self.sql(FILL.format(queue=self.number, lanes=LANES, start=self.filled + 1))
            self.filled += 10_000

    def exchanges(self, batch, clients, seconds, pause=0.0, pooled=False):
        """Returns the exchanges per second, and the mean time of an exchange in milliseconds, including the wait for the lock."""
        # The jobs of the previous measurement's workers.
        self.sql(f"SET search_path = sluice; SELECT detach({self.number}, NULL, worker) FROM "
                 f"(SELECT DISTINCT worker FROM job WHERE queue = {self.number} AND state = 1) AS held")
        script = EXCHANGE.replace("QUEUE", str(self.number)).replace("BATCH", str(batch))
        if pause:
            microseconds = round(1e6 * pause)
            # Pauses first, so that the workers don't all begin at the same time.
            script = f"\\set pause random(0, {2 * microseconds})\n\\sleep :pause us\n" + script
        with tempfile.NamedTemporaryFile("w", suffix=".sql") as file:
            file.write(script)
            file.flush()
            done = subprocess.run(
                ["pgbench", "-n", "-r", "-M", "simple", "-f", file.name, "-c", str(clients), "-j", "2", "-T", str(seconds),
                 self.pooler if pooled else self.url],
                text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if done.returncode:
            sys.exit(f"pgbench ended with {done.returncode}:\n{done.stderr[-2000:]}")
        rate = re.search(r"tps = ([0-9.]+) \(without", done.stdout)
        latency = re.search(r"^ +([0-9.]+) +\d+ +BEGIN", done.stdout, re.MULTILINE)
        if not rate or not latency:
            sys.exit(f"pgbench completed no transaction:\n{done.stdout}{done.stderr[-2000:]}")
        if self.waiting() < batch * clients:
            sys.exit("The queue ran empty, so exchanges claimed less. Pass a larger --waiting.")
        return float(rate[1]), float(latency[1])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=5, help="the time of each measurement")
    parser.add_argument("--transfer", type=float, default=0.5, help="the mean time in seconds between a worker's exchanges")
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 10, 100, 200, 400, 700, 1000])
    parser.add_argument("--waiting", type=int, default=100_000, help="the number of waiting jobs")
    parser.add_argument("--sluice", default=str(ROOT / ".build/debug/sluice"), help="a program with the trait PostgreSQL")
    parser.add_argument("--json", type=pathlib.Path, help="write the numbers to this file too")
    options = parser.parse_args()
    url, pooler = os.environ.get("SLUICE_POSTGRES"), os.environ.get("SLUICE_PGBOUNCER")
    if not url or not pooler:
        sys.exit("There is no server. Run this script with Scripts/checks/postgres.sh.")
    queue = Queue(url, pooler, options.sluice)
    found = {"ceilings": [], "workers": []}
    print(f"{options.waiting:,} jobs wait in {LANES} lanes; fsync is {queue.sql('SHOW fsync')}.\n")
    print("jobs of an exchange   c, ms   exchanges/s   jobs/s")
    for batch in [1, 8, 64]:
        queue.fill(options.waiting)
        rate, _ = queue.exchanges(batch, 8, options.seconds)
        found["ceilings"].append({"batch": batch, "milliseconds": 1000 / rate, "exchanges": rate, "jobs": batch * rate})
        print(f"{batch:19}   {1000 / rate:5.2f}   {rate:11,.0f}   {batch * rate:6,.0f}", flush=True)
    ceiling = found["ceilings"][1]["exchanges"]
    print(f"\n8 jobs for each exchange, one in {options.transfer:g} s for each worker, through pgbouncer:\n")
    print("workers   wanted/s   exchanges/s   of the ceiling   mean wait and work, ms")
    for workers in options.workers:
        # Many workers need longer until each has had some exchanges.
        seconds = options.seconds + workers // 40
        wanted = workers / options.transfer
        queue.fill(options.waiting + round(8 * seconds * min(wanted, ceiling)))
        rate, latency = queue.exchanges(8, workers, seconds, options.transfer, pooled=True)
        found["workers"].append({"workers": workers, "exchanges": rate, "milliseconds": latency})
        print(f"{workers:7,}   {wanted:8,.0f}   {rate:11,.0f}   {rate / ceiling:14.0%}   {latency:22.1f}", flush=True)
    print(f"\nThe knee is at {ceiling * options.transfer:,.0f} workers with {options.transfer:g} s between their exchanges, because"
          f"\n{ceiling * options.transfer:,.0f} / {options.transfer:g} s = {ceiling:,.0f} exchanges per second. 10,000 workers are below it if each has"
          f"\n{10_000 / ceiling:.0f} s or more between its exchanges, or if {-(-10_000 // (ceiling * options.transfer)):.0f} queues on"
          " as many servers share them.")
    if options.json:
        options.json.write_text(json.dumps(found, indent=1) + "\n")


main()
