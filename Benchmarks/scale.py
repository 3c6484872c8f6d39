"""The rows of scale: a million transfers, very large files, and how time and memory grow."""
import json
import os
import pty
import shutil
import socket
import sqlite3
import subprocess
import threading
import time

import measure
import stage
from measure import median, spread
from rows import GIB, Row, checked, rss

MIB = 1 << 20


def mib(size):
    return f"{size / MIB:.0f} MiB"


def inventory(count):
    """A CSV of `count` rows, URL and path of 120 bytes together in the plan."""
    path = stage.PLACE / f"inventory-{count}.csv"
    if not path.exists():
        with open(path, "w") as rows:
            rows.write("path,sha256\n")
            for i in range(count):
                rows.write(f"archive/{i % 1000:04d}/batch-{i // 1000:05d}/object-{i:010d}.bin,{i:064x}\n")
    return path


def plan_text(url, count):
    return (f"transfers:\n  - id: m\n    for_each: {{ csv: {inventory(count)}, key: '${{each.path}}' }}\n"
            f"    download: '{url}/${{each.path}}'\n    to: 'out/${{each.path}}'\n"
            "    expect: { sha256: '${each.sha256}' }\n")


class FirstRequest:
    """Takes connections, and knows when the first byte of a request came. Never answers."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        self.at = None
        self.came = threading.Event()
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        held = []
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            held.append(connection)
            if connection.recv(1) and not self.came.is_set():
                self.at = time.time()
                self.came.set()

    def end(self):
        self.listener.close()


def compiled(job):
    """Runs the job until its plan is compiled, and kills it there: a million transfers are not begun."""
    return measure.run_until(job.command("--events", str(job.events)),
                             lambda: measure.moment(job.events, "plan_compiled"))


def settle_all_but_last(database, count):
    """As if all transfers but the last had come in this run: their state, and all that is recorded of them."""
    with sqlite3.connect(database) as db:
        now = time.time()
        db.execute("UPDATE transfer SET state = 'completed', touched = 0 WHERE seq < ?", [count])
        db.execute("UPDATE transfer SET state = 'queued', reason = NULL, touched = 0 WHERE seq = ?", [count])
        db.execute("DELETE FROM progress")
        db.execute("""
            INSERT INTO progress (transfer, size, chunk_size, session_state, resolved_destination, destination_facts, digests,
              verification, chunks_total, chunks_completed, chunks_reused, contiguous_bytes, transferred, reused, discarded,
              requests, retries, attempts, max_chunk_attempts, last_http_status, started_at, ended_at, updated_at, duration,
              fresh_starts, completed_at, synced, boot_id)
            SELECT seq, 4096, 8388608, 'none', destination,
              json_object('size', 4096, 'mtime', 1700000000000000000, 'ctime', 1700000000000000000, 'inode', CAST(seq AS TEXT)),
              expect, '{"checks":[{"check":"sha256","against":"manifest","result":"match"}]}', 1, 1, 0, 4096, 4096, 0, 0,
              1, 0, 1, 1, 200, ?1, ?1, ?1, 0.01, 0, ?1, 1, NULL FROM transfer WHERE seq < ?2""", [now, count])
        db.execute("UPDATE run SET ended_at = NULL, outcome = NULL, exit_code = NULL")


def million(rounds, count=1_000_000):
    """Plans of a million rows: compile, compile again, go on, report."""
    server = FirstRequest()
    first, second, plans = [], [], []
    # A million rows take their time; they hardly vary.
    for _ in range(min(rounds, 2)):
        job = stage.Job("million", plan_text(server.url, count))
        first.append(compiled(job))
        job.events.unlink()
        second.append(compiled(job))
    row = Row(f"a plan of {count:,} rows of a CSV")
    row.figure("compile", first)
    row.figure("compile again, nothing changed", second)
    row.at_most("compile, s", median(first), 15)
    row.at_most("compile again, s", median(second), 3)
    plans.append(measure.run(job.command(verb="plan")))
    row.figure("`haul plan` of the compiled plan", plans)
    rss(row, first + second + plans)
    database = job.state / "million/plan.sqlite"
    row.note("plan on disk", f"{database.stat().st_size / count:.0f} bytes a transfer")
    row.at_most("bytes a transfer", database.stat().st_size / count, 400)
    few = stage.Job("few", plan_text(server.url, 1000))
    small = compiled(few)
    row.note("compile of 1,000 rows, resident", mib(small.rss))
    row.at_most("resident, 1,000,000 / 1,000", median(first, "rss") / small.rss, 1.2)

    going = Row(f"going on with {count:,} transfers of which {count - 1:,} are done, and their report")
    settle_all_but_last(database, count)
    samples = []
    for _ in range(max(rounds, 2)):
        server.came.clear()
        sample = measure.run_until(job.command(), lambda: server.at if server.came.is_set() else None)
        samples.append(sample)
    going.figure("first request", samples)
    going.at_most("first request, s", median(samples), 1)
    rss(going, samples)
    out = job.folder / "report-of-changed.json"
    report = lambda *more: [str(stage.HAUL), "report", "million", "--state-dir", str(job.state), "--json", *more]
    with open(out, "w") as file:
        found = measure.run(report(), stdout=file)
    with open(out) as file:
        said = json.load(file)
    if said["transfers_scope"] != "changed" or len(said["transfers"]) != 1 or said["totals"]["completed"] != count - 1:
        raise SystemExit(f"the report of {count:,} says something else: {said['transfers_scope']}, {said['totals']}")
    going.figure("report, `transfers_scope: changed`", [found])
    everything = measure.run(report("--all"))
    going.figure("report of all, `--all`", [everything])
    rss(going, [found, everything])
    server.end()
    return [row, going]


def nightly(rounds, count=20_000):
    """The same job again, from cron: all files are there as they were left."""
    data = stage.PLACE / "night"
    sums = stage.small_files(data / "many", count, 100)
    server = stage.Nginx(data)
    job = stage.Job("nightly", f"transfers:\n  - id: m\n    for_each: {{ csv: inv.csv, key: '${{each.name}}' }}\n"
                               f"    download: '{server.url}/many/${{each.name}}'\n    to: 'out/${{each.name}}'\n"
                               "    expect: { sha256: '${each.sha256}' }\n", keep=True)
    (job.folder / "inv.csv").write_text("name,sha256\n" + "".join(f"{name},{digest}\n" for name, digest in sums.items()))
    first = measure.run(job.command())

    def haul():
        sample = measure.run(job.command())
        totals = json.loads(job.report.read_text())["totals"]
        if totals["up_to_date"] != count or totals["requests"] != 0:
            raise SystemExit(f"the second night says something else: {totals}")
        return sample

    def rclone():
        return measure.run([stage.RCLONE, "copy", "--http-url", server.url, ":http:many", job.folder / "out"])

    row = Row(f"{count:,} files again, nothing changed")
    row.figure("haul, the first time", [first])
    samples = measure.alternate({"haul": haul, "rclone copy": rclone}, min(rounds, 3))
    for name, found in samples.items():
        row.figure(name, found)
        row.note(f"{name}, CPU", f"{median(found, 'cpu') / count * 1e3:.3f} ms a file")
    row.at_most("wall / rclone copy", median(samples["haul"]) / median(samples["rclone copy"]), 0.5)
    rss(row, samples["haul"])
    server.end()
    return [row]


def one_large_file(place, size):
    with open(place, "wb") as file:
        file.truncate(size)
    return place


def sparse(_):
    """100 GiB without a disk: a sparse file read, hashed and sent to a server that throws it away."""
    size = 100 * GIB
    root = stage.fresh("sparse-source")
    big = one_large_file(root / "sparse.bin", size)
    server = stage.Listening(["python3", str(stage.ROOT / "Benchmarks/peers/sink.py")])
    job = stage.Job("sparse", f"transfers:\n  - id: big\n    upload: {big}\n    to: {server.url}/sparse.bin\n")
    row = Row("100 GiB, sparse, hashed and sent to a server that throws it away")
    sample = measure.run(job.command())
    row.figure("haul", [sample])
    row.note("rate", f"{size / sample.wall / 1e6:.0f} MB/s")
    rss(row, [sample])
    server.end()
    return [row]


def in_a_terminal(command):
    """Runs it where it believes that somebody watches."""
    master, slave = pty.openpty()
    def drain():
        try:
            while os.read(master, 1 << 16):
                pass
        except OSError:
            pass
    reader = threading.Thread(target=drain, daemon=True)
    reader.start()
    sample = measure.run(command, stdout=slave, stderr=slave)
    os.close(slave)
    reader.join()
    os.close(master)
    return sample


def watching(rounds):
    """What events and the live view cost."""
    data = stage.PLACE / "served"
    size = 2 * GIB
    data.mkdir(parents=True, exist_ok=True)
    big = one_large_file(data / "zeros.bin", size)
    server = stage.Nginx(data)

    def job():
        return stage.Job("watch", f"transfers:\n  - id: big\n    download: {server.url}/{big.name}\n    to: big.bin\n")

    def silent():
        return measure.run(job().command())

    def watched():
        one = job()
        sample = in_a_terminal([word for word in one.command("--events", str(one.events)) if word != "--no-progress"])
        if not any(e["event"] == "chunk_completed" for e in measure.events(one.events)):
            raise SystemExit("no chunk was told of")
        return sample

    row = Row("live view and events on, 2 GiB down")
    samples = measure.alternate({"without": silent, "live view and events": watched}, max(rounds, 5))
    for name, found in samples.items():
        row.figure(name + ", CPU", found, "cpu")
    row.at_most("CPU, with / without", median(samples["live view and events"], "cpu") / median(samples["without"], "cpu"), 1.03)
    server.end()
    return [row]


def forget_pages():
    """The disk's speed counts, not the memory's; needs root."""
    os.sync()
    with open("/proc/sys/vm/drop_caches", "w") as file:
        file.write("3")


def resume_check(rounds):
    """A partial of some 10 GiB, killed, then checked before it goes on."""
    size, wanted = 12 * GIB, 10 * GIB
    root = stage.fresh("resume-source")
    one_large_file(root / "big.bin", size)
    nginx = stage.Nginx(root)
    text = f"transfers:\n  - id: big\n    download: {nginx.url}/big.bin\n    to: big.bin\n"

    def recorded(job):
        try:
            with sqlite3.connect(f"file:{job.state}/{job.name}/plan.sqlite?mode=ro", uri=True) as db:
                return db.execute("SELECT coalesce(sum(length), 0) FROM chunk").fetchone()[0]
        except sqlite3.OperationalError:
            return 0

    def killed_at(name, count):
        job = stage.Job(name, text)
        measure.run_until(job.command(), lambda: time.time() if recorded(job) >= count else None)
        return job, recorded(job)

    def going_on(job, before):
        return measure.run_until(job.command(), lambda: time.time() if recorded(job) > before else None)

    # What comes before and after a check: start, connection, the first new chunk and its record.
    starts = []
    for _ in range(3):
        small, before = killed_at("resume-small", 32 * MIB)
        starts.append(going_on(small, before).wall)
        shutil.rmtree(small.folder)
    start = sorted(starts)[1]
    job, before = killed_at("resume", wanted)
    part = next(job.folder.glob(".big.bin.*.haul-part"))
    row = Row("resume check of a partial, killed at 10 GiB of 12")
    for cold in (True, False):
        name = "from the disk" if cold else "from memory"
        ratios, samples = [], []
        for _ in range(rounds):
            before = recorded(job)
            # What comes first in the file is what is recorded, but for a few chunks that were under way.
            read = f"dd if={part} of=/dev/null bs=1M count={before // MIB} status=none"
            hash = f"{stage.PEERS}/check {part} {before}"
            forget_pages() if cold else measure.run(read)
            disk = measure.run(read)
            measure.run(read)
            hashing = measure.run(hash)
            if cold:
                forget_pages()
            found = going_on(job, before)
            samples.append(found)
            row.note(name, f"{before / GIB:.1f} GiB; `dd` {disk.wall:.2f} s; read from memory and hashed by bare C on all cores {hashing.wall:.2f} s; "
                           f"first chunk beyond it recorded after {found.wall:.2f} s, {found.cpu / found.wall:.1f} cores busy; "
                           f"of a partial of 32 MiB after {start:.2f} s")
            # At the disk's or the hash's speed, whichever is slower.
            ratios.append((found.wall - start) / max(disk.wall, hashing.wall))
        row.at_most(f"{name}, check / the slower of the two", sorted(ratios)[len(ratios) // 2], 1.2)
        rss(row, samples)
    nginx.end()
    shutil.rmtree(job.folder)
    return [row]


def growth(_):
    """Curves: time and memory against size, transfers, chunks in flight and delay. One run a point."""
    data = stage.PLACE / "served"
    data.mkdir(parents=True, exist_ok=True)
    server = stage.Nginx(data)
    rows = []

    row = Row("growth: one file of zeros, by size")
    for size in (MIB, 16 * MIB, 256 * MIB, GIB, 4 * GIB, 16 * GIB):
        one_large_file(data / "zeros.bin", size)
        job = stage.Job("size", f"transfers:\n  - id: big\n    download: {server.url}/zeros.bin\n    to: big.bin\n"
                                f"    expect: {{ size: {size} }}\n")
        sample = measure.run(job.command())
        row.note(mib(size), f"{sample.wall:.2f} s, CPU {sample.cpu:.2f} s, {mib(sample.rss)}")
        (job.folder / "big.bin").unlink()
    rows.append(row)

    row = Row("growth: transfers in a plan, compiled; and 4 KiB downloads, run")
    for count in (10, 100, 1000, 10_000, 100_000, 1_000_000):
        sample = compiled(stage.Job("count", plan_text("http://127.0.0.1:9", count)))
        row.note(f"{count:,} compiled", f"{sample.wall:.2f} s, {mib(sample.rss)}")
    names = [f"{index % 10_000:06d}?{index}" for index in range(100_000)]
    stage.small_files(stage.PLACE / "small/many", 10_000, 4096)
    server.end()
    server = stage.Nginx(stage.PLACE / "small")
    for count in (10, 100, 1000, 10_000, 100_000):
        with open(stage.PLACE / "names.txt", "w") as listed:
            listed.write("\n".join(names[:count]) + "\n")
        job = stage.Job("many", "defaults: { policy: { transfers: 16, connections: { per_host: 16 } } }\ntransfers:\n  - id: m\n"
                                f"    for_each: {{ list: {stage.PLACE}/names.txt, key: '${{each.line}}' }}\n"
                                f"    download: '{server.url}/many/${{each.line}}'\n    to: 'out/${{each.line}}'\n", keep=True)
        sample = measure.run(job.command())
        row.note(f"{count:,} run", f"{sample.wall:.2f} s, {mib(sample.rss)}")
    rows.append(row)
    server.end()

    one_large_file(data / "zeros.bin", 256 * MIB)
    server = stage.Nginx(data)
    text = ("defaults: {{ policy: {{ chunks_in_flight: {}, connections: {{ per_host: 64 }} }} }}\ntransfers:\n"
            "  - id: big\n    download: {}/zeros.bin\n    to: big.bin\n    chunk_size: 2MiB\n")
    row = Row("growth: 256 MiB, by chunks in flight, from here and from a server 20 ms away")
    link = stage.far(server.port, 20, 200_000_000)
    for chunks in (1, 2, 4, 8, 16, 32, 64):
        near = measure.run(stage.Job("near", text.format(chunks, server.url)).command())
        away = measure.run(stage.Job("away", text.format(chunks, link.url)).command())
        row.note(f"{chunks}", f"here {near.wall:.2f} s, {mib(near.rss)}; away {away.wall:.2f} s, {mib(away.rss)}")
    link.end()
    rows.append(row)

    row = Row("growth: 256 MiB in 8 chunks at a time at 200 MB/s, by delay each way")
    for delay in (0, 5, 10, 25, 50, 100):
        link = stage.far(server.port, delay, 200_000_000)
        sample = measure.run(stage.Job("delay", text.format(8, link.url)).command())
        row.note(f"{delay} ms", f"{sample.wall:.2f} s, CPU {sample.cpu:.2f} s, {mib(sample.rss)}")
        link.end()
    rows.append(row)
    server.end()
    return rows


def kills(_, count=200, rate=13_000_000, each=60 << 20):
    """Three downloads and three uploads at once, killed every quarter of a second until all of it is there."""
    served, sent = stage.fresh("kills-root"), stage.fresh("kills-sent")
    files = {stage.random_file(served / f"down-{number}.bin", each): f"down-{number}.bin" for number in range(3)}
    sources = [stage.random_file(sent / f"up-{number}.bin", each) for number in range(3)]
    server = stage.depot(served)
    link = stage.far(server.port, 1, rate)
    job = stage.Job("kills", f"endpoints: {{ there: {{ type: session, url: '{link.url}' }} }}\ndefaults: {{ chunk_size: 1MiB }}\ntransfers:\n"
                    + "".join(f"  - {{ id: d{n}, download: there:down-{n}.bin, to: down-{n}.bin }}\n"
                              f"  - {{ id: u{n}, upload: '{path}', to: 'there:up-{n}.bin' }}\n" for n, path in enumerate(sources)))
    killed = 0
    measure.settle()
    while True:
        process = subprocess.Popen(job.command(), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            # Past the count it may end.
            status = process.wait(0.25 if killed < 2 * count else None)
            break
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            killed += 1
    if status != 0:
        raise SystemExit(f"{job.manifest} ended with {status}")
    for path, name in files.items():
        if stage.sha256(path) != stage.sha256(job.folder / name):
            raise SystemExit(f"{name} is not what was served")
    for path in sources:
        if stage.sha256(path) != stage.sha256(served / path.name):
            raise SystemExit(f"{path} is not what was sent")
    link.process.terminate()
    up, down = (int(word) for word in link.process.stdout.readline().split()[1:])
    server.end()
    row = Row(f"3 × {each >> 20} MiB down and 3 × {each >> 20} MiB up at {rate // 1_000_000} MB/s each way, killed every 0.25 s")
    row.note("kills until all was there", str(killed))
    again = (up + down - 6 * each) / max(1, killed)
    row.note("moved down and up", f"{down / (3 * each):.2f} and {up / (3 * each):.2f} of the files")
    row.at_most("moved again a kill, MiB", again / (1 << 20), 1.5)
    row.at_most("attempts / those that the bytes need", (killed + 1) / (3 * each / (rate * 0.25)), 2)
    return [row]


ALL = {"kills": kills, "million": million, "nightly": nightly, "watching": watching, "sparse": sparse, "resume-check": resume_check, "growth": growth}
