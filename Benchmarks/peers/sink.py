#!/usr/bin/env python3
"""A server that takes any PUT and throws its bytes away: what a client costs, without a disk.

usage: sink.py      prints `listening on PORT`
"""
import socket
import sys
import threading

PIECE = 1 << 20
sizes = {}  # of what was put, by path: whoever asks afterwards is told


def serve(connection):
    buffer = bytearray(PIECE)
    with connection:
        while True:
            head = b""
            while b"\r\n\r\n" not in head:
                got = connection.recv(1 << 16)
                if not got:
                    return
                head += got
            head, _, rest = head.partition(b"\r\n\r\n")
            fields = {n.strip().lower(): v.strip() for n, _, v in (f.partition(b":") for f in head.split(b"\r\n")[1:])}
            method, path = head.split(b" ", 2)[:2]
            if method != b"PUT":
                found = b"200 OK" if path in sizes else b"404 Not Found"
                connection.sendall(b"HTTP/1.1 %s\r\nContent-Length: %d\r\n\r\n" % (found, sizes.get(path, 0)))
                continue
            size = int(fields[b"content-length"])
            left = size - len(rest)
            if fields.get(b"expect") == b"100-continue":
                connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
            while left > 0:
                got = connection.recv_into(buffer, min(PIECE, left))
                if not got:
                    return
                left -= got
            sizes[path] = size
            connection.sendall(b"HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n")


listener = socket.create_server(("127.0.0.1", 0))
print(f"listening on {listener.getsockname()[1]}", flush=True)
while True:
    threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
