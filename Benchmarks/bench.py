#!/usr/bin/env python3
"""haul and its peers on the same work: `make bench`. Prints the table; writes JSON and Markdown.

usage: bench.py [--rounds N] [--only ROW,…] [--json FILE] [--markdown FILE]
"""
import argparse
import json
import sys
import time

import rows
import s3
import scale
import stage

ALL = rows.ALL | s3.ALL | scale.ALL

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--rounds", type=int, default=5, help="runs of every contender, alternating (5)")
parser.add_argument("--only", help="rows, by name: " + ", ".join(ALL))
parser.add_argument("--json", help="also write the figures here")
parser.add_argument("--markdown", help="also write the table here")
options = parser.parse_args()

stage.PLACE.mkdir(parents=True, exist_ok=True)
stage.build_peers()
head = {"machine": stage.machine(), "versions": stage.versions(), "rounds": options.rounds,
        "at": time.strftime("%Y-%m-%dT%H:%MZ", time.gmtime())}
def markdown(found):
    lines = ["# Performance", "",
             f"Measured by `make bench` on {head['at']}, {options.rounds} rounds, contenders alternating; median (least–most).",
             "Server and clients share the machine.", "", f"Machine: {head['machine']}.", "",
             "Versions: " + "; ".join(f"{n} {v}" for n, v in head["versions"].items()) + ".", ""]
    return "\n".join(lines + summary(found) + [line for row in found for line in block(row)])


def summary(found):
    """Every goal in one table: what was found, what was asked for, by how much it is missed."""
    lines = ["## Goals", "", "| work | ratio | found | goal | |", "| --- | --- | --- | --- | --- |"]
    return lines + [f"| {row.work} | {what} | {value} | {limit} | {said(value, limit, met)} |"
                    for row in found for what, value, limit, met in row.goals] + [""]


def said(value, limit, met):
    return "met" if met else f"**not met**, by {abs(value / float(limit[2:]) - 1) * 100:.0f} %"


def block(row):
    lines = [f"## {row.work}", "", "| | |", "| --- | --- |"] + [f"| {what} | {value} |" for what, value in row.figures] + [""]
    if row.goals:
        lines += ["| ratio | found | goal | |", "| --- | --- | --- | --- |"]
        lines += [f"| {what} | {value} | {limit} | {said(value, limit, met)} |" for what, value, limit, met in row.goals] + [""]
    return lines


def write(found):
    """After each row: a bench that is broken off has not run in vain."""
    if options.markdown:
        with open(options.markdown, "w") as file:
            file.write(markdown(found))
    if options.json:
        with open(options.json, "w") as file:
            json.dump(head | {"rows": [{"work": r.work, "figures": dict(r.figures),
                                        "goals": [dict(zip(("what", "found", "goal", "met"), g)) for g in r.goals]} for r in found]},
                      file, indent=1, ensure_ascii=False)


found = []
wanted = options.only.split(",") if options.only else list(ALL)
for name in wanted:
    if name not in ALL:
        sys.exit(f"there is no row `{name}`: " + ", ".join(ALL))
for name in wanted:
    for row in ALL[name](options.rounds):
        found.append(row)
        print("\n".join(block(row)), flush=True)
    write(found)
print("\n".join(summary(found)))
stage.clear()
