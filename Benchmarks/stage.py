"""What the measurements stand on: programs, data, servers."""
import atexit
import hashlib
import os
import pathlib
import re
import shutil
import socket
import subprocess
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
PLACE = pathlib.Path(os.environ.get("HAUL_BENCH_DIR", ROOT / ".build/bench"))
BIN = pathlib.Path(os.environ.get("HAUL_BENCH_BIN", ROOT / ".build/release"))
HAUL = BIN / "haul"
DEPOT = BIN / "depot"
PEERS = PLACE / "peers"
# What `Scripts/setup-bench` takes from PyPI.
VENV = PLACE / "venv/bin"
RCLONE = VENV / "rclone"


def build_peers():
    PEERS.mkdir(parents=True, exist_ok=True)
    for name in ["get", "sessions", "many", "record"]:
        subprocess.run(["gcc", "-O2", "-o", PEERS / name, ROOT / f"Benchmarks/peers/{name}.c",
                        "-lcurl", "-lcrypto", "-lsqlite3", "-lpthread"], check=True)
    sums = ROOT / "Sources/CChecksums"
    subprocess.run(["gcc", "-O2", "-I", sums / "include", "-o", PEERS / "check", ROOT / "Benchmarks/peers/check.c",
                    *sorted(sums.glob("*.c")), "-lpthread"], check=True)


def random_file(path, size):
    """Bytes that no disk or wire compresses; kept between runs."""
    path = pathlib.Path(path)
    if not path.exists() or path.stat().st_size != size:
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(path, "wb") as file:
            for _ in range(size // (1 << 20)):
                file.write(os.urandom(1 << 20))
            file.write(os.urandom(size % (1 << 20)))
    return path


def sha256(path):
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def small_files(folder, count, size):
    """`count` files FOLDER/000000…; returns name -> SHA-256."""
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    sums = {}
    for index in range(count):
        path = folder / f"{index:06d}"
        if not path.exists() or path.stat().st_size != size:
            path.write_bytes(os.urandom(size))
        sums[path.name] = hashlib.sha256(path.read_bytes()).hexdigest()
    return sums


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def wait_for(port):
    for _ in range(200):
        with socket.socket() as one:
            if one.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise SystemExit(f"nothing listens on {port}")


class Nginx:
    """As its packagers would run it for static files: sendfile, keep-alive, WebDAV PUT for the uploads."""

    def __init__(self, root):
        self.port = free_port()
        home = PLACE / f"nginx-{self.port}"
        shutil.rmtree(home, ignore_errors=True)
        (home / "temp").mkdir(parents=True)
        os.chmod(root, 0o777)
        (home / "nginx.conf").write_text(f"""
daemon off; worker_processes 1; pid {home}/pid; error_log {home}/error.log; user root;
events {{ worker_connections 512; }}
http {{
  sendfile on; tcp_nopush on; keepalive_requests 100000; access_log off; client_max_body_size 0;
  client_body_temp_path {home}/temp; proxy_temp_path {home}/temp; fastcgi_temp_path {home}/temp;
  uwsgi_temp_path {home}/temp; scgi_temp_path {home}/temp;
  server {{ listen 127.0.0.1:{self.port}; root {root}; autoindex on; dav_methods PUT; create_full_put_path on; }}
}}
""")
        self.process = subprocess.Popen(["nginx", "-p", home, "-c", home / "nginx.conf"], stderr=subprocess.DEVNULL)
        atexit.register(self.end)  # a row that fails leaves no server behind
        wait_for(self.port)
        self.url = f"http://127.0.0.1:{self.port}"

    def end(self):
        self.process.terminate()
        self.process.wait()


class Process:
    """A server that is ended by its process id, also where a row fails."""

    def __init__(self, command):
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        atexit.register(self.end)

    def end(self):
        self.process.terminate()
        self.process.wait()


class Listening:
    """A server of ours that says `listening on …` when it is ready."""

    def __init__(self, command):
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        atexit.register(self.end)
        while True:
            line = self.process.stdout.readline()
            if not line:
                raise SystemExit(f"{command[0]} did not start")
            if found := re.search(r"listening on (?:http://127\.0\.0\.1:)?(\d+)", line):
                self.port = int(found[1])
                break
        self.url = f"http://127.0.0.1:{self.port}"

    def cpu(self):
        """Seconds that it has computed."""
        fields = open(f"/proc/{self.process.pid}/stat").read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def end(self):
        self.process.terminate()
        self.process.wait()


def depot(root):
    pathlib.Path(root).mkdir(parents=True, exist_ok=True)
    return Listening([str(DEPOT), "--root", str(root), "--listen", "127.0.0.1:0"])


def far(port, delay_ms, rate):
    return Listening(["python3", str(ROOT / "Benchmarks/peers/far.py"), str(port), str(delay_ms), str(rate)])


runs = 0


def fresh(name, keep=False):
    """An empty folder for one run. With `keep` it stays until `clear`: ext4 is slow to use inodes again that were freed
    within the last minutes, and whoever runs next would pay for it."""
    global runs
    runs += 1
    path = PLACE / "work" / (f"{name}-{runs}" if keep else name)
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir(parents=True)
    return path


def clear():
    shutil.rmtree(PLACE / "work", ignore_errors=True)


class Job:
    """A manifest in a folder of its own with a state of its own."""

    def __init__(self, name, text, keep=False):
        self.name, self.folder = name, fresh(name, keep)
        self.manifest = self.folder / "job.yaml"
        self.manifest.write_text(f"version: 1\njob: {name}\n{text}")
        self.state = self.folder / "state"
        self.report = self.folder / "report.json"
        self.events = self.folder / "events"

    def command(self, *more, verb="run"):
        extra = ["--no-progress", "--report", str(self.report)] if verb == "run" else []
        return [str(HAUL), verb, str(self.manifest), "--state-dir", str(self.state), *extra, *more]


def versions():
    def first(command):
        try:
            done = subprocess.run(command, capture_output=True, text=True)
            return (done.stdout or done.stderr).strip().splitlines()[0]
        except (FileNotFoundError, IndexError):
            return "not found"
    return {name: first(command) for name, command in {
        "haul": [str(HAUL), "--version"], "nginx": ["nginx", "-v"], "curl": ["curl", "--version"],
        "aria2": ["aria2c", "--version"], "rclone": [RCLONE, "version"], "s5cmd": [VENV / "s5cmd", "version"], "seaweedfs": [VENV / "weed", "version"], "kernel": ["uname", "-sr"],
        "openssl": ["openssl", "version"]}.items()}


def machine():
    model = "unknown"
    for line in open("/proc/cpuinfo"):
        if line.startswith("model name"):
            model = line.split(":", 1)[1].strip()
            break
    flags = open("/proc/cpuinfo").read()
    memory = int(re.search(r"MemTotal:\s+(\d+)", open("/proc/meminfo").read())[1]) >> 20
    return f"{os.cpu_count()} × {model}, SHA instructions: {'yes' if 'sha_ni' in flags else 'no'}, {memory} GiB"
