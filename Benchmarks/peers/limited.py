#!/usr/bin/env python3
"""A server with a limit of its own: every GET is answered with 4 KiB, unless it comes too soon or on one connection too many.

usage: limited.py rate        ten requests a second, the others get 429 without a Retry-After
       limited.py connections the ninth connection is closed as it comes
       limited.py slowing     beyond eight at a time, each request takes the longer the more there are

Prints `listening on PORT`, and, ended by SIGTERM, `saw REQUESTS`: all that asked for something, refused connections included.
"""
import asyncio
import signal
import sys
import time

BODY = b"x" * 4096
ANSWER = b"HTTP/1.1 200 OK\r\nAccept-Ranges: bytes\r\nETag: \"a\"\r\nContent-Length: 4096\r\n\r\n" + BODY
REFUSAL = b"HTTP/1.1 429 Too Many Requests\r\nContent-Length: 0\r\n\r\n"
ROOM, PER_SECOND, SERVICE = 8, 10, 0.02


class Server:
    def __init__(self, limit):
        self.limit, self.seen, self.connections, self.busy = limit, 0, 0, 0
        self.tokens, self.filled = float(PER_SECOND), time.monotonic()

    def may_pass(self):
        now = time.monotonic()
        self.tokens = min(PER_SECOND, self.tokens + (now - self.filled) * PER_SECOND)
        self.filled = now
        if self.tokens < 1:
            return False
        self.tokens -= 1
        return True

    async def serve(self, reader, writer):
        self.connections += 1
        try:
            if self.limit == "connections" and self.connections > ROOM:
                self.seen += 1
                return
            while True:
                await reader.readuntil(b"\r\n\r\n")
                self.seen += 1
                if self.limit == "rate" and not self.may_pass():
                    writer.write(REFUSAL)
                else:
                    if self.limit != "rate":
                        await self.work()
                    writer.write(ANSWER)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            self.connections -= 1
            writer.close()

    async def work(self):
        self.busy += 1
        crowd = max(1, self.busy / ROOM) if self.limit == "slowing" else 1
        await asyncio.sleep(SERVICE * crowd ** 1.5)
        self.busy -= 1


async def main(limit):
    server = Server(limit)
    listening = await asyncio.start_server(server.serve, "127.0.0.1", 0)
    print(f"listening on {listening.sockets[0].getsockname()[1]}", flush=True)
    ended = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, ended.set)
    await ended.wait()
    print(f"saw {server.seen}", flush=True)


asyncio.run(main(sys.argv[1]))
