"""Runs commands and keeps what they cost."""
import contextlib
import datetime
import json
import os
import sqlite3
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass, field


@dataclass
class Sample:
    wall: float
    cpu: float
    rss: int  # bytes, the largest that the process itself had resident
    extra: dict = field(default_factory=dict)


def settle():
    """Before each run: dirty pages of the run before must not be paid by this one, nor free pages that the host of a
    virtual machine took back and must give anew, so 2 GiB of them are written to once (by a process of their own: a child
    begins with its parent's peak of resident memory)."""
    os.sync()
    subprocess.run([sys.executable, "-c", 'b"\\1" * (2 << 30)'], check=True)


def run(command, *, cwd=None, env=None, check=True, sync=False, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE):
    """One run of a command; with `sync`, the file system's flush counts too."""
    settle()
    at = time.time()
    began = time.monotonic()
    process = subprocess.Popen(command, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=stdout,
                               stderr=stderr, shell=isinstance(command, str))
    errors = process.stderr.read().decode(errors="replace") if process.stderr else ""
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if sync:
        os.sync()
    wall = time.monotonic() - began
    if check and process.returncode != 0:
        raise SystemExit(f"{command} ended with {process.returncode}:\n{errors[-2000:]}")
    sample = Sample(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024, {"at": at})
    return sample


def run_until(command, moment):
    """Runs a command until `moment()` gives a time, and kills it then: the sample is of all up to that time."""
    settle()
    at = time.time()
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    found = None
    while found is None:
        if (found := moment()) is None and process.poll() is not None:
            raise SystemExit(f"{command} ended with {process.returncode} too soon:\n"
                             f"{process.stderr.read().decode(errors='replace')[-2000:]}")
        time.sleep(0.01)
    process.kill()
    _, _, usage = os.wait4(process.pid, 0)
    process.returncode = -9
    return Sample(found - at, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024, {"at": at})


def moment(path, event):
    """When an event was, of a file that is being written; None where it is not there yet."""
    try:
        with open(path) as lines:
            for line in lines:
                if f'"event":"{event}"' in line and line.endswith("\n"):
                    return timestamp(json.loads(line)["at"])
    except FileNotFoundError:
        pass
    return None


def alternate(contenders, rounds):
    """Runs every contender once a round, in turn, so that a noisy minute is shared; name -> samples."""
    samples = {name: [] for name in contenders}
    for _ in range(rounds):
        for name, once in contenders.items():
            samples[name].append(once())
    return samples


def median(samples, key="wall"):
    return statistics.median(getattr(s, key) for s in samples)


def spread(samples, key="wall"):
    values = [getattr(s, key) for s in samples]
    return f"{statistics.median(values):.2f} ({min(values):.2f}–{max(values):.2f})"


def timestamp(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def to_last_completion(job, sample):
    """The same run, up to the moment when its last transfer was complete, as its ledger has it."""
    database = next(job.state.glob("*/plan.sqlite"))
    with contextlib.closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as ledger:
        last, left = ledger.execute("SELECT max(completed_at), sum(completed_at IS NULL) FROM progress").fetchone()
    if left:
        raise SystemExit(f"{left} transfers of {job.manifest} are not complete")
    return Sample(last - sample.extra["at"], sample.cpu, sample.rss)


def events(path):
    with open(path) as lines:
        for line in lines:
            yield json.loads(line)
