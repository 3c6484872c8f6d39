#!/usr/bin/env python3
"""How a job of very many files goes on many workers: a simulation. Its model stands in docs/fleet.md.

    fleet.py --files 1e9 --size 64KiB --workers 256 --parts 256,512,1024 --mtbf 500h

Times that were measured come from --measured FILE (JSON, members as in MEASURED below) or, the rate of files alone, from
haul's own report of a trial run: --report FILE. Only the standard library is needed.
"""

import argparse
import heapq
import json
import math
import random
import re
import sys

# Of one worker. The first and the third are docs/performance.md's (10,000 files of 4 KiB in a run; a plan of a million
# rows compiled whole, which a part does not store), the merge's is that of 64 reports of a million transfers; the others
# are assumed. Give your own.
MEASURED = {
    "files_per_second": 4300.0,  # small files, all that is done for each
    "bytes_per_second": 500e6,  # large files
    "scan_per_million": 7.5,  # seconds to compile a part, for each million rows of the whole list, at the most
    "start": 2.0,  # seconds from the engine's start of a task to haul's
    "merge_per_second": 60e3,  # transfers that a merge reads and writes
    "report_bytes": 450.0,  # bytes of a transfer in a report
}

UNITS = {"": 1, "k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12}


def size(text):
    match = re.fullmatch(r"([\d.]+(?:e\d+)?)\s*([kmgt]?)(i?)b?", text.lower())
    if not match:
        raise argparse.ArgumentTypeError(f"`{text}` is no size: like 64KiB")
    number, unit, binary = match.groups()
    return float(number) * (1024 ** " kmgt".index(unit or " ") if binary else UNITS[unit])


def seconds(text):
    match = re.fullmatch(r"([\d.]+)\s*(s|m|h|d)?", text)
    if not match:
        raise argparse.ArgumentTypeError(f"`{text}` is no duration: like 90s or 500h")
    return float(match[1]) * {"s": 1, "m": 60, "h": 3600, "d": 86400}[match[2] or "s"]


def count(text):
    return int(float(text))


def words(value):
    for unit, name in ((86400, "d"), (3600, "h"), (60, "min")):
        if value >= unit:
            return f"{value / unit:.1f} {name}"
    return f"{value:.1f} s"


class Model:
    """One fleet: parts of a job, workers that take them, nodes that fail."""

    def __init__(self, options, measured):
        self.options = options
        self.measured = measured

    def work(self, files, rng):
        """Seconds that the files of a part take on one worker, alone."""
        per_file = 1 / self.measured["files_per_second"] + self.options.size / self.measured["bytes_per_second"]
        # Sizes differ: the sum of many has the spread of one, over the root of their number.
        spread = self.options.spread / math.sqrt(max(1, files))
        # A worker is not as fast as another, for as long as it has the part.
        slow = rng.lognormvariate(0, self.options.unevenness)
        return files * per_file * max(0.0, rng.gauss(1, spread)) * slow

    def part(self, files, scan, rng):
        """A part until its end: seconds that a worker has it, how often it was queued again, seconds done twice."""
        left = self.work(files, rng)
        total, requeues, again, done = 0.0, 0, 0.0, 0.0
        needs_scan = True
        while True:
            # A state that is there is not compiled again.
            begin = self.measured["start"] + (scan if needs_scan else 0)
            whole = begin + left - done
            limit = self.options.time_limit or math.inf
            failure = rng.expovariate(1 / self.options.mtbf) if self.options.mtbf else math.inf
            if min(failure, limit) >= whole:
                return total + whole, requeues, again
            ran = min(failure, limit)
            total += ran + self.options.requeue_delay
            requeues += 1
            gained = max(0.0, ran - begin)
            if limit < failure or self.options.shared:
                # A second of a kill, nothing of an end with 75.
                lost = min(gained, 1.0) if failure <= limit else 0.0
                needs_scan = needs_scan and ran < begin
            else:
                # The state is gone: what the store can vouch for is only looked at again.
                lost = (done + gained) * (1 - self.options.adopted)
                needs_scan = True
            done = max(0.0, done + gained - lost)
            again += lost
            if requeues > 10_000:
                sys.exit("a part does not come to its end: --mtbf or --time-limit is too short for it")

    def run(self, parts, seed):
        """List scheduling: the next part goes to the worker that is free first."""
        rng = random.Random(seed)
        scan = self.options.files / 1e6 * self.measured["scan_per_million"]
        mean = self.options.files / parts
        free = [0.0] * min(self.options.workers, parts)
        requeues, again, busy = 0, 0.0, 0.0
        for _ in range(parts):
            # Ids without an order: as even as chance. Ids that count up are more even than this.
            files = max(0, round(rng.gauss(mean, math.sqrt(mean))))
            begin = heapq.heappop(free)
            spent, more, lost = self.part(files, scan, rng)
            heapq.heappush(free, begin + spent)
            requeues, again, busy = requeues + more, again + lost, busy + spent
        end, first = max(free), min(free)
        merge = self.options.files / self.measured["merge_per_second"]
        return {
            "scan": scan, "end": end, "tail": end - first, "use": busy / (end * self.options.workers),
            "requeues": requeues, "again": again, "merge": merge,
        }


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--files", type=count, default=count("1e9"))
    add("--size", type=size, default=64 * 1024, help="bytes of a file, on the average")
    add("--spread", type=float, default=2.0, help="the sizes' standard deviation over their mean")
    add("--workers", type=count, default=256, help="parts at a time")
    add("--parts", default="", help="counts to compare, with commas; one, two and four a worker where left out")
    add("--unevenness", type=float, default=0.1, help="how much workers' speeds differ (sigma of a lognormal)")
    add("--mtbf", type=seconds, default=seconds("500h"), help="between two failures of a worker; 0 for none")
    add("--time-limit", type=seconds, default=0, help="of the engine, for one start of a part")
    add("--requeue-delay", type=seconds, default=120, help="from the end of a part to its next start")
    add("--shared", action=argparse.BooleanOptionalAction, default=True, help="the state outlives its node")
    add("--adopted", type=float, default=0.9, help="unshared: the share of work that is found done")
    add("--runs", type=count, default=20, help="simulated runs a count; the table has their medians")
    add("--seed", type=int, default=1)
    add("--measured", help="JSON with measured times")
    add("--report", help="haul's JSON report of a trial run")
    add("--json", action="store_true")
    return parser.parse_args()


def measured(options):
    values = dict(MEASURED)
    if options.measured:
        with open(options.measured, encoding="utf-8") as file:
            values.update(json.load(file))
    if options.report:
        with open(options.report, encoding="utf-8") as file:
            report = json.load(file)
        moved, duration = report["totals"]["completed"], report["run"]["duration_s"]
        if not moved or not duration:
            sys.exit(f"`{options.report}` has no completed transfers to measure by")
        # What its bytes took is not counted twice.
        spent = duration / moved - report["totals"]["bytes"]["transferred"] / moved / values["bytes_per_second"]
        if spent > 0:
            values["files_per_second"] = 1 / spent
    return values


def main():
    options = arguments()
    model = Model(options, measured(options))
    parts = [count(text) for text in options.parts.split(",") if text] or [
        options.workers * times for times in (1, 2, 4)
    ]
    rows = []
    for number in parts:
        results = [model.run(number, options.seed * 1000 + index) for index in range(options.runs)]
        median = {key: sorted(result[key] for result in results)[len(results) // 2] for key in results[0]}
        rows.append({"parts": number, **median})
    if options.json:
        return print(json.dumps(rows, indent=2))
    print(f"{options.files:,} files on {options.workers} workers, medians of {options.runs} runs")
    heads = ["parts", "files a part", "scan", "all", "tail", "in use", "requeues", "done twice", "merge", "reports"]
    print(" | ".join(heads))
    print(" | ".join("---:" for _ in heads))
    for row in rows:
        reports = options.files * model.measured["report_bytes"]
        print(
            " | ".join([
                str(row["parts"]), f"{options.files // row['parts']:,}", words(row["scan"]), words(row["end"]),
                words(row["tail"]), f"{row['use']:.0%}", str(row["requeues"]), words(row["again"]),
                words(row["merge"]), f"{reports / 1e9:.0f} GB",
            ]))


if __name__ == "__main__":
    main()
