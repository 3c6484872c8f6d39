"""The rows of the table: each runs haul and its peers on the same work, checks the result, and gives its figures."""
import itertools
import os
import sys

import measure
import stage
from measure import median, spread

GIB = 1 << 30
RATE = 50_000_000


class Row:
    def __init__(self, work):
        self.work = work
        self.figures = []  # (what, value as text)
        self.goals = []  # (what, value, limit, met)

    def figure(self, what, samples, key="wall"):
        self.figures.append((what, f"{spread(samples, key)} s"))

    def note(self, what, text):
        self.figures.append((what, text))

    def at_most(self, what, value, limit):
        self.goals.append((what, round(value, 3), f"≤ {limit}", value <= limit))

    def at_least(self, what, value, limit):
        self.goals.append((what, round(value, 3), f"≥ {limit}", value >= limit))


def checked(sample, path, digest):
    if stage.sha256(path) != digest:
        raise SystemExit(f"{path} is not what was sent")
    return sample


def rss(row, samples):
    worst = max(s.rss for s in samples)
    row.note("haul, resident at most", f"{worst / (1 << 20):.0f} MiB")
    row.at_most("resident, MiB", worst / (1 << 20), 64)


def large_down(rounds):
    """1 GiB with SHA-256 from nginx."""
    data = stage.PLACE / "served"
    big = stage.random_file(data / "big.bin", GIB)
    digest = stage.sha256(big)
    server = stage.Nginx(data)
    url = f"{server.url}/big.bin"

    def haul(sync):
        job = stage.Job("down", f"transfers:\n  - id: big\n    download: {url}\n    to: big.bin\n"
                                f"    expect: {{ sha256: {digest} }}\n")
        sample = checked(measure.run(job.command(), sync=sync), job.folder / "big.bin", digest)
        return sample if sync else measure.to_last_completion(job, sample)

    def floor(sync):
        folder = stage.fresh("floor")
        return checked(measure.run([stage.PEERS / "get", url, folder / "big.bin"], sync=sync), folder / "big.bin", digest)

    def curl(sync):
        folder = stage.fresh("curl")
        return measure.run(f"curl -sfo big.bin {url} && sha256sum big.bin | grep -q {digest}", cwd=folder, sync=sync)

    def aria(sync):
        folder = stage.fresh("aria")
        return measure.run(["aria2c", "-q", "-x4", "-s4", f"--checksum=sha-256={digest}", "-d", folder, url], sync=sync)

    rows = []
    for sync in (False, True):
        row = Row("download 1 GiB with SHA-256" + (", to the end and `sync`" if sync else ", to the last completion"))
        samples = measure.alternate({n: (lambda f=f: f(sync)) for n, f in
                                     {"haul": haul, "C loop": floor, "curl + sha256sum": curl, "aria2c": aria}.items()}, rounds)
        for name, found in samples.items():
            row.figure(name, found)
        row.figure("haul, CPU", samples["haul"], "cpu")
        row.figure("C loop, CPU", samples["C loop"], "cpu")
        mine = median(samples["haul"])
        row.at_most("wall / C loop", mine / median(samples["C loop"]), 1.0)
        row.at_most("wall / (curl + sha256sum)", mine / median(samples["curl + sha256sum"]), 0.25)
        row.at_most("wall / aria2c", mine / median(samples["aria2c"]), 0.2)
        row.at_most("CPU / C loop", median(samples["haul"], "cpu") / median(samples["C loop"], "cpu"), 1.15)
        rss(row, samples["haul"])
        rows.append(row)
    server.end()
    return rows


def large_up(rounds):
    """1 GiB through chunk sessions to depot."""
    big = stage.random_file(stage.PLACE / "served/big.bin", GIB)
    digest = stage.sha256(big)
    root = stage.fresh("depot-up")
    server = stage.depot(root)

    def clean():
        for name in ("haul.bin", "c.bin"):
            (root / name).unlink(missing_ok=True)

    def haul():
        clean()
        job = stage.Job("up", f"endpoints:\n  depot: {{ type: session, url: {server.url} }}\ntransfers:\n"
                              f"  - id: big\n    upload: {big}\n    to: depot:haul.bin\n    if_exists: replace\n")
        return checked(measure.run(job.command()), root / "haul.bin", digest)

    def floor():
        clean()
        return checked(measure.run([stage.PEERS / "sessions", server.url, "c.bin", big, str(8 << 20)]), root / "c.bin", digest)

    row = Row("upload 1 GiB through chunk sessions to depot")
    samples = measure.alternate({"haul": haul, "C client": floor}, rounds)
    for name, found in samples.items():
        row.figure(name, found)
    row.at_most("wall / C client", median(samples["haul"]) / median(samples["C client"]), 1.15)
    rss(row, samples["haul"])
    server.end()
    return [row]


def depot_itself(rounds):
    """depot against nginx, and against the cost of its hashes and writes."""
    data = stage.PLACE / "served"
    big = stage.random_file(data / "big.bin", GIB)
    nginx, root = stage.Nginx(data), stage.fresh("depot-down")
    os.link(big, root / "big.bin")
    server = stage.depot(root)
    ranges = lambda url: lambda: measure.run(
        " & ".join(f"curl -sfo /dev/null -r {i * GIB // 4}-{(i + 1) * GIB // 4 - 1} {url}" for i in range(4)) + " & wait")
    measure.run(["curl", "-sfo", "/dev/null", f"{server.url}/files/big.bin/meta"])  # its digest, once
    row = Row("depot: 1 GiB down by four ranges")
    samples = measure.alternate({"depot": ranges(f"{server.url}/files/big.bin"), "nginx": ranges(f"{nginx.url}/big.bin")}, rounds)
    for name, found in samples.items():
        row.figure(name, found)
    row.at_least("speed / nginx", median(samples["nginx"]) / median(samples["depot"]), 0.5)
    up = Row("depot: 1 GiB up by sessions")

    def costs():
        folder = stage.fresh("costs")
        return measure.run(f"openssl dgst -sha256 {big} & openssl dgst -sha256 {big}; cat {big} > copy; wait", cwd=folder)

    def sessions():
        (root / "c.bin").unlink(missing_ok=True)
        before = server.cpu()
        sample = measure.run([stage.PEERS / "sessions", server.url, "c.bin", big, str(8 << 20)])
        # The client computes two hashes of its own on the same cores: only depot's time tells of depot.
        sample.cpu = server.cpu() - before
        return sample

    samples = measure.alternate({"by sessions": sessions, "two hashes and one write": costs}, rounds)
    for name, found in samples.items():
        up.figure(name, found)
    up.figure("by sessions, depot's CPU", samples["by sessions"], "cpu")
    up.figure("two hashes and one write, CPU", samples["two hashes and one write"], "cpu")
    up.at_most("CPU / costs", median(samples["by sessions"], "cpu") / median(samples["two hashes and one write"], "cpu"), 1.3)
    nginx.end()
    server.end()
    return [row, up]


def small_down(rounds, count=10_000):
    """Many files of 4 KiB with digests, from nginx."""
    data = stage.PLACE / "small"
    sums = stage.small_files(data / "many", count, 4096)
    server = stage.Nginx(data)
    lists = stage.fresh("lists")
    with open(lists / "inv.csv", "w") as rows:
        rows.write("name,sha256\n" + "".join(f"{name},{digest}\n" for name, digest in sums.items()))
    with open(lists / "curl.txt", "w") as rows:
        rows.write("".join(f"url={server.url}/many/{name}\noutput={name}\n" for name in sums))
    with open(lists / "floor.txt", "w") as rows:
        rows.write("".join(f"{name} {server.url}/many/{name} {digest}\n" for name, digest in sums.items()))
    with open(lists / "aria.txt", "w") as rows:
        rows.write("".join(f"{server.url}/many/{name}\n checksum=sha-256={digest}\n" for name, digest in sums.items()))

    def verify(folder):
        for name in list(sums)[:: max(1, count // 200)]:
            if stage.sha256(folder / name) != sums[name]:
                raise SystemExit(f"{folder / name} is wrong")

    tuned = "defaults: { policy: { transfers: 16, connections: { per_host: 16 } } }\n"

    def haul(sync, policy=""):
        job = stage.Job("small", f"{policy}transfers:\n  - id: m\n    for_each: {{ csv: {lists}/inv.csv, key: '${{each.name}}' }}\n"
                                 f"    download: '{server.url}/many/${{each.name}}'\n    to: 'out/${{each.name}}'\n"
                                 f"    expect: {{ sha256: '${{each.sha256}}' }}\n", keep=True)
        sample = measure.run(job.command(), sync=sync)
        verify(job.folder / "out")
        return sample if sync else measure.to_last_completion(job, sample)

    def curl(sync, *more):
        folder = stage.fresh("curl", keep=True)
        return measure.run(["curl", "-s", "--parallel", *more, "-K", lists / "curl.txt"], cwd=folder, sync=sync)

    def rclone(sync, *more):
        folder = stage.fresh("rclone", keep=True)
        return measure.run([stage.RCLONE, "copy", *more, "--http-url", server.url, ":http:many", folder], sync=sync)

    def aria(sync):
        folder = stage.fresh("aria", keep=True)
        return measure.run(["aria2c", "-q", "-j8", "-d", folder, "-i", lists / "aria.txt"], sync=sync)

    def floor(sync):
        folder = stage.fresh("floor", keep=True)
        sample = measure.run([stage.PEERS / "record", lists / "floor.txt", "16", folder], sync=sync)
        verify(folder)
        return sample

    rows = []
    for sync in (False, True):
        row = Row(f"{count:,} × 4 KiB down, digests expected" + (", to the end and `sync`" if sync else ", to the last completion"))
        contenders = {"haul": haul, "curl --parallel": curl, "rclone copy": rclone, "aria2c": aria, "floor": floor}
        if not sync:
            contenders |= {"haul, 16 at a time": lambda sync: haul(sync, tuned),
                           "curl --parallel, 16 at a time": lambda sync: curl(sync, "--parallel-max", "16"),
                           "rclone copy, 16 at a time": lambda sync: rclone(sync, "--transfers", "16")}
        samples = measure.alternate({n: (lambda f=f: f(sync)) for n, f in contenders.items()}, rounds)
        for name, found in samples.items():
            row.figure(name, found)
        for name, found in samples.items():
            cpu = median(found, "cpu")
            row.note(f"{name}, CPU", f"{spread(found, 'cpu')} s: {cpu / count * 1e3:.3f} ms a file, {count / cpu:,.0f} files a second a core")
        mine = median(samples["haul"])
        for peer, limit in (("curl --parallel", 2.0), ("rclone copy", 1.0), ("aria2c", 0.25), ("floor", 1.3)):
            row.at_most(f"wall / {peer}", mine / median(samples[peer]), limit)
        for peer, limit in (("rclone copy", 1.0), ("floor", 1.3)):
            row.at_most(f"CPU / {peer}", median(samples["haul"], "cpu") / median(samples[peer], "cpu"), limit)
        rss(row, samples["haul"])
        rows.append(row)
    server.end()
    return rows


def parts(rounds):
    """One job in shards side by side, beside as many processes of curl that share its files: what several processes of
    any program cost on this machine."""
    return [parts_of("many", 10_000, 4096, rounds), parts_of("more", 1_000, 1 << 20, rounds)]


def parts_of(folder, count, size, rounds):
    data = stage.PLACE / "small"
    names = list(stage.small_files(data / folder, count, size))
    server = stage.Nginx(data)
    listed = stage.fresh("names") / "names.txt"
    listed.write_text("\n".join(names) + "\n")
    keep = size < 1 << 20  # Thirty runs of a GiB would fill the disk.

    def brought(kind, number, folders):
        if sum(len(os.listdir(folder)) for folder in folders) != count:
            raise SystemExit(f"{number} × {kind} did not bring all {count} files")

    def shards(number):
        job = stage.Job("parts", "defaults: { policy: { transfers: 16, connections: { per_host: 16 } } }\n"
                        f"transfers:\n  - id: m\n    for_each: {{ list: {listed}, key: '${{each.line}}' }}\n"
                        f"    download: '{server.url}/{folder}/${{each.line}}'\n    to: 'out/${{each.line}}'\n", keep=keep)
        command = [str(stage.HAUL), "run", str(job.manifest), "--state-dir", str(job.state), "--no-progress"]
        sample = measure.run(" & ".join(" ".join(command + (["--shard", f"{part}/{number}"] if number > 1 else []))
                                        for part in range(1, number + 1)) + " & wait")
        brought("haul", number, [job.folder / "out"])
        return sample

    def curl(number):
        folders = [stage.fresh(f"curl-{part}", keep=keep) for part in range(number)]
        for part, place in enumerate(folders):
            (place.parent / f"{place.name}.txt").write_text(
                "".join(f"url={server.url}/{folder}/{name}\noutput={place}/{name}\n" for name in names[part::number]))
        sample = measure.run(" & ".join(f"curl -s --parallel --parallel-max {16 // number} -K {place}.txt" for place in folders) + " & wait")
        brought("curl", number, folders)
        return sample

    row = Row(f"{count:,} × {size >> 10} KiB down, in parts side by side, to the end of each run")
    samples = measure.alternate({f"{kind}, {number} process{'es' if number > 1 else ''}": (lambda f=f, number=number: f(number))
                                 for kind, f in (("haul", shards), ("curl --parallel", curl)) for number in (1, 2, 4)}, rounds)
    for name, found in samples.items():
        row.figure(name, found)
        row.figure(f"{name}, CPU", found, "cpu")
    for number in (2, 4):
        share, control = (min(s.cpu for s in samples[f"{kind}, {number} processes"]) / min(s.cpu for s in samples[f"{kind}, 1 process"])
                          for kind in ("haul", "curl --parallel"))
        row.at_most(f"least CPU of {number} parts / 1 process", share, 1.05)
        row.note(f"curl, least CPU of {number} processes / 1", f"{control:.3f}")
    server.end()
    return row


def small_up(rounds, count=10_000):
    """Many files of 4 KiB up: by sessions to depot, by PUT to nginx."""
    data = stage.PLACE / "small/many"
    stage.small_files(data, count, 4096)
    root, webroot = stage.fresh("depot-many", keep=True), stage.fresh("nginx-many", keep=True)
    server, nginx = stage.depot(root), stage.Nginx(webroot)
    policy = "defaults: { policy: { transfers: 16, connections: { per_host: 16 } } }\n"
    places = (f"to-{number}" for number in itertools.count())

    def haul(endpoint):
        job = stage.Job("up", f"endpoints:\n  there: {endpoint}\n{policy}transfers:\n  - id: m\n"
                              f"    upload: {data}/*\n    to: there:{next(places)}/\n", keep=True)
        return measure.run(job.command())

    rows = []
    for form, url, endpoint in (("sessions", server.url, f"{{ type: session, url: {server.url} }}"),
                                ("put", nginx.url, f"{{ type: http, url: {nginx.url} }}")):
        row = Row(f"{count:,} × 4 KiB up by {'sessions' if form == 'sessions' else 'PUT'}")
        samples = measure.alternate({
            "haul": lambda: haul(endpoint),
            "bare requests": lambda: measure.run([stage.PEERS / "many", form, url, data, str(count), "16", next(places)]),
        }, rounds)
        for name, found in samples.items():
            row.figure(name, found)
        row.at_most("wall / bare requests", median(samples["haul"]) / median(samples["bare requests"]), 2)
        rss(row, samples["haul"])
        rows.append(row)
    server.end()
    nginx.end()
    return rows


def far_server(rounds):
    """50 ms each way, a capped link."""
    data = stage.PLACE / "served"
    size = GIB
    big = stage.random_file(data / "big.bin", size)
    digest = stage.sha256(big)
    sums = stage.small_files(data / "thousand", 1000, 4096)
    nginx = stage.Nginx(data)
    link = stage.far(nginx.port, 50, RATE)
    policy = "defaults: { policy: { transfers: 16, chunks_in_flight: 8, connections: { per_host: 16 } } }\n"

    def large():
        job = stage.Job("far", f"{policy}transfers:\n  - id: big\n    download: {link.url}/big.bin\n    to: big.bin\n"
                               f"    expect: {{ sha256: {digest} }}\n")
        return checked(measure.run(job.command()), job.folder / "big.bin", digest)

    row = Row(f"far server, 50 ms each way, {RATE // 1_000_000} MB/s")
    # It takes as long as the link does, and hardly varies.
    found = [large() for _ in range(min(rounds, 2))]
    row.figure("1 GiB", found)
    row.at_least("share of the link's rate", size / RATE / median(found), 0.95)
    with open(data / "names.txt", "w") as names:
        names.write("\n".join(sums) + "\n")

    def many():
        job = stage.Job("farmany", f"{policy}transfers:\n  - id: m\n    for_each: {{ list: {data}/names.txt, key: '${{each.line}}' }}\n"
                                   f"    download: '{link.url}/thousand/${{each.line}}'\n    to: 'out/${{each.line}}'\n")
        return measure.run(job.command())

    with open(data / "far.txt", "w") as names:
        names.write("".join(f"url={link.url}/thousand/{name}\noutput={name}\n" for name in sums))

    def curl():
        return measure.run(["curl", "-s", "--parallel", "--parallel-max", "16", "-K", data / "far.txt"], cwd=stage.fresh("far-curl"))

    samples = measure.alternate({"haul": many, "curl --parallel": curl}, rounds)
    found = samples["haul"]
    row.figure("1,000 × 4 KiB on 16 connections", found)
    row.figure("the same by `curl --parallel`, unchecked", samples["curl --parallel"])
    # A request a round trip on each connection, and one round trip more to open it.
    least = (1000 / 16 + 1) * 0.1
    row.note("the least that 16 connections allow", f"{least:.2f} s")
    row.at_most("wall / least", median(found) / least, 1.2)
    link.end()
    rows = [row] + [as_it_comes(nginx, data, delay, rounds) for delay in (10, 50, 100)]
    nginx.end()
    return rows


def as_it_comes(nginx, data, delay, rounds):
    """Many small files by the defaults of both sides; `connections: auto` finds what pays anew in each run."""
    names = list(stage.small_files(data / "thousands", 2000, 4096))
    link = stage.far(nginx.port, delay, RATE)
    with open(data / "thousands.txt", "w") as listed:
        listed.write("\n".join(names) + "\n")
    with open(data / "thousands.curl", "w") as listed:
        listed.write("".join(f"url={link.url}/thousands/{name}\noutput={name}\n" for name in names))

    def haul():
        job = stage.Job("faras", "transfers:\n"
                                 f"  - id: m\n    for_each: {{ list: {data}/thousands.txt, key: '${{each.line}}' }}\n"
                                 f"    download: '{link.url}/thousands/${{each.line}}'\n    to: 'out/${{each.line}}'\n")
        return measure.run(job.command())

    def curl():
        return measure.run(["curl", "-s", "--parallel", "-K", data / "thousands.curl"], cwd=stage.fresh("faras-curl"))

    def rclone():
        return measure.run([stage.RCLONE, "copy", "--http-url", link.url, ":http:thousands", stage.fresh("faras-rclone")])

    samples = measure.alternate({"haul": haul, "curl --parallel": curl, "rclone copy": rclone}, rounds)
    row = Row(f"2,000 × 4 KiB as it comes, {2 * delay} ms round trip")
    for name, found in samples.items():
        row.figure(name, found)
    row.at_most("wall / curl --parallel", median(samples["haul"]) / median(samples["curl --parallel"]), 1.0)
    row.at_most("wall / rclone copy", median(samples["haul"]) / median(samples["rclone copy"]), 0.15)
    rss(row, samples["haul"])
    link.end()
    return row


def limited(rounds):
    """Servers with limits of their own, as haul comes and with the best of some fixed numbers."""
    rows = []
    for limit, count, numbers, what in (
            ("rate", 400, (1, 2, 4, 8), "10 requests a second, 429 for the others"),
            ("connections", 1000, (4, 8, 16), "closes the 9th connection"),
            ("slowing", 1000, (4, 8, 16), "slower beyond 8 at a time")):
        listed = stage.fresh("limited") / "names.txt"
        listed.write_text("".join(f"{number}\n" for number in range(count)))
        seen = {}

        def haul(number):
            server = stage.Listening([sys.executable, stage.ROOT / "Benchmarks/peers/limited.py", limit])
            fixed = f"defaults: {{ policy: {{ transfers: {number}, connections: {{ per_host: {number} }} }} }}\n" if number else ""
            job = stage.Job("limited", f"{fixed}transfers:\n  - id: m\n    for_each: {{ list: {listed}, key: '${{each.line}}' }}\n"
                                       f"    download: '{server.url}/${{each.line}}'\n    to: 'out/${{each.line}}'\n", keep=True)
            # A fixed number may use up a transfer's tries.
            sample = measure.run(job.command(), check=not number)
            server.process.terminate()
            seen.setdefault(number, []).append(int(server.process.stdout.readline().split()[1]))
            return sample

        samples = measure.alternate({number: (lambda n=number: haul(n)) for number in (0, *numbers)}, rounds)
        row = Row(f"{count:,} × 4 KiB from a server: {what}")
        for number, found in samples.items():
            row.figure(f"{number} at a time" if number else "haul", found)
            row.note(f"{number} at a time, requests" if number else "haul, requests", f"{max(seen[number]):,}")
        row.at_most("wall / the best fixed number", median(samples[0]) / min(median(samples[n]) for n in numbers), 1.2)
        row.at_most("requests / the least", max(seen[0]) / count, 1.2)
        rows.append(row)
    return rows


ALL = {"large-down": large_down, "large-up": large_up, "depot": depot_itself, "small-down": small_down, "parts": parts, "small-up": small_up,
       "far": far_server, "limited": limited}
