"""The rows of S3, by the workload names of aws-crt-s3-benchmarks: haul beside s5cmd, rclone and obstore on SeaweedFS; every
contender as it comes, and some tuned."""
import itertools
import json
import os
import pathlib

import measure
import stage
from measure import median
from rows import GIB, Row, rss

ID, SECRET = "AKIDBENCH0001", "bench/secret+0001"
ENVIRONMENT = os.environ | {"AWS_ACCESS_KEY_ID": ID, "AWS_SECRET_ACCESS_KEY": SECRET, "AWS_REGION": "us-east-1"}


class Weed:
    """SeaweedFS as one process with a bucket `bkt`."""

    def __init__(self):
        home = stage.fresh("weed", keep=True)
        (home / "s3.json").write_text(json.dumps({"identities": [{
            "name": "bench", "credentials": [{"accessKey": ID, "secretKey": SECRET}],
            "actions": ["Admin", "Read", "Write", "List", "Tagging"]}]}))
        self.port = stage.free_port()
        command = [stage.VENV / "weed", "server", f"-dir={home}", "-ip=127.0.0.1", "-ip.bind=127.0.0.1", "-filer", "-s3",
                   f"-s3.port={self.port}", f"-s3.config={home}/s3.json", "-s3.port.iceberg=0", "-s3.port.lance=0",
                   "-master.telemetry=false", "-master.volumeSizeLimitMB=1024", "-volume.max=50"]
        command += [f"-{name}{kind}={stage.free_port()}" for name in ("master.port", "volume.port", "filer.port")
                    for kind in ("", ".grpc")] + [f"-s3.port.grpc={stage.free_port()}"]
        self.process = stage.Process(command)
        stage.wait_for(self.port)
        self.url = f"http://127.0.0.1:{self.port}"
        for attempt in itertools.count():
            try:
                self.s5cmd("mb", "s3://bkt")
                break
            except SystemExit:
                if attempt == 100:
                    raise
                stage.time.sleep(0.1)

    def s5cmd(self, *arguments, stdin=None):
        return measure.run([stage.VENV / "s5cmd", "--endpoint-url", self.url, "--log", "error", *arguments], env=ENVIRONMENT)

    def rclone(self, *arguments):
        remote = (f":s3,provider=SeaweedFS,env_auth=true,force_path_style=true,no_check_bucket=true,endpoint='{self.url}':")
        return measure.run([stage.RCLONE, *(str(a).replace("s3://", remote) for a in arguments)], env=ENVIRONMENT)

    def haul(self, transfers, places=""):
        job = stage.Job("s3", f"endpoints:\n  there: {{ type: s3, url: '{self.url}', bucket: bkt, auth: {{ aws: {{ env: true }} }} }}\n"
                              f"transfers:\n{transfers}", keep=True)
        sample = measure.run(job.command(), env=ENVIRONMENT)
        sample.extra["requests"] = json.loads(job.report.read_text())["totals"]["requests"]
        sample.extra["job"] = job
        return sample

    def obstore(self, verb, prefix, folder):
        return measure.run([stage.VENV / "python", stage.ROOT / "Benchmarks/peers/obstore_copy.py", self.url, verb, prefix, folder],
                           env=ENVIRONMENT)


def count_files(folder, count):
    found = sum(len(names) for _, _, names in os.walk(folder))
    if found != count:
        raise SystemExit(f"{folder} has {found} files, not {count}")


def compare(title, contenders, rounds, requests_per_file=None, count=1):
    """A row of one work: haul's wall against the faster of s5cmd and rclone as they come."""
    row = Row(title)
    samples = measure.alternate(contenders, rounds)
    for name, found in samples.items():
        row.figure(name, found)
        row.figure(f"{name}, CPU", found, "cpu")
    peers = min(median(samples[name]) for name in ("s5cmd", "rclone"))
    row.at_most("wall / the faster of s5cmd and rclone", median(samples["haul"]) / peers, 1.0)
    if requests_per_file:
        row.at_most("requests a file", max(s.extra["requests"] for s in samples["haul"]) / count, requests_per_file)
    rss(row, samples["haul"])
    return row


def small(rounds, count=3000, size=16 << 10):
    """Many small objects each way, and once more with nothing changed."""
    data = stage.PLACE / "s3/small"
    stage.small_files(data, count, size)
    store, number = Weed(), itertools.count()
    last = {}

    def haul_up():
        last["up"] = store.haul(f"  - id: m\n    upload: {data}/*\n    to: there:haul-{next(number)}/\n")
        return last["up"]

    up = compare(f"S3: upload-{size >> 10}KiB-{count:_}x", {
        "haul": haul_up,
        "s5cmd": lambda: store.s5cmd("cp", f"{data}/*", f"s3://bkt/s5-{next(number)}/"),
        "rclone": lambda: store.rclone("copy", data, f"s3://bkt/rc-{next(number)}"),
        "rclone, 64 transfers": lambda: store.rclone("copy", "--transfers", "64", "--checkers", "64", data, f"s3://bkt/rt-{next(number)}"),
        "obstore": lambda: store.obstore("up", f"ob-{next(number)}", data),
    }, rounds, 1.05, count)

    def again(job):
        sample = measure.run(job.command(), env=ENVIRONMENT)
        sample.extra["requests"] = json.loads(job.report.read_text())["totals"]["requests"]
        return sample

    unchanged = Row(f"S3: upload-{size >> 10}KiB-{count:_}x again, nothing changed")
    found = [again(last["up"].extra["job"]) for _ in range(rounds)]
    unchanged.figure("haul", found)
    unchanged.at_most("requests a file", max(s.extra["requests"] for s in found) / count, 0.01)

    store.s5cmd("cp", f"{data}/*", "s3://bkt/down/")

    def haul_down():
        sample = store.haul("  - id: m\n    download: 'there:down/'\n    to: out/\n")
        count_files(sample.extra["job"].folder / "out", count)
        return sample

    def peer(name, go):
        def once():
            folder = stage.fresh(name, keep=True)
            sample = go(folder)
            count_files(folder, count)
            return sample
        return once

    down = compare(f"S3: download-{size >> 10}KiB-{count:_}x", {
        "haul": haul_down,
        "s5cmd": peer("s5", lambda folder: store.s5cmd("cp", "s3://bkt/down/*", f"{folder}/")),
        "rclone": peer("rc", lambda folder: store.rclone("copy", "s3://bkt/down", folder)),
        "rclone, 64 transfers": peer("rt", lambda folder: store.rclone("copy", "--transfers", "64", "--checkers", "64", "s3://bkt/down", folder)),
        "obstore": peer("ob", lambda folder: store.obstore("down", "down", folder)),
    }, rounds, 1.05, count)
    store.process.end()
    return [up, unchanged, down]


def large(rounds, size=GIB):
    """One large object each way."""
    big = stage.random_file(stage.PLACE / "s3/big.bin", size)
    digest = stage.sha256(big)
    store, number = Weed(), itertools.count()
    # Each to a key of its own: nobody finds it there already.
    up = compare("S3: upload-1GiB-1x", {
        "haul": lambda: store.haul(f"  - id: big\n    upload: {big}\n    to: there:haul-{next(number)}.bin\n"),
        "s5cmd": lambda: store.s5cmd("cp", big, f"s3://bkt/s5-{next(number)}.bin"),
        "rclone": lambda: store.rclone("copyto", big, f"s3://bkt/rc-{next(number)}.bin"),
    }, rounds)
    store.s5cmd("cp", big, "s3://bkt/s5.bin")

    def checked(path, sample):
        if stage.sha256(path) != digest:
            raise SystemExit(f"{path} is not what was sent")
        return sample

    def haul_down():
        sample = store.haul("  - id: big\n    download: there:s5.bin\n    to: big.bin\n")
        return checked(sample.extra["job"].folder / "big.bin", sample)

    def peer(name, go):
        def once():
            path = pathlib.Path(stage.fresh(name)) / "big.bin"
            return checked(path, go(path))
        return once

    down = compare("S3: download-1GiB-1x", {
        "haul": haul_down,
        "s5cmd": peer("s5", lambda path: store.s5cmd("cp", "s3://bkt/s5.bin", path)),
        "rclone": peer("rc", lambda path: store.rclone("copyto", "s3://bkt/s5.bin", path)),
    }, rounds)
    store.process.end()
    return [up, down]


ALL = {"s3-small": small, "s3-large": large}
