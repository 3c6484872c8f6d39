#!/usr/bin/env python3
"""A far server: relays TCP with a delay each way and a rate that all connections share each way.

usage: far.py TARGET_PORT DELAY_MS BYTES_PER_SECOND      prints `listening on PORT`, and, ended by SIGTERM,
                                                         `carried UP DOWN`: the bytes of each direction

Every piece leaves DELAY_MS after it has come in, and no earlier than the link, shared by all connections of that
direction, has carried what came before it. What is under way is bounded by the link's bandwidth-delay product and one
buffer, as on a real path, so that a sender is held back and does not fill the proxy's memory.
"""
import asyncio
import signal
import sys

PIECE = 64 << 10


class Link:
    def __init__(self, rate, delay):
        self.rate, self.delay, self.free, self.carried = rate, delay, 0.0, 0

    def due(self, count, now):
        self.free = max(self.free, now) + count / self.rate
        return self.free + self.delay


async def relay(reader, writer, link):
    loop = asyncio.get_running_loop()
    room = max(4 * PIECE, int(link.rate * link.delay * 2) + 4 * PIECE)
    waiting = asyncio.Queue()
    held, freed = 0, asyncio.Event()

    async def carry():
        nonlocal held
        while True:
            due, data = await waiting.get()
            await asyncio.sleep(max(0.0, due - loop.time()))
            if data is None:
                break
            writer.write(data)
            await writer.drain()
            link.carried += len(data)
            held -= len(data)
            freed.set()
        if writer.can_write_eof():
            writer.write_eof()

    carrier = asyncio.create_task(carry())
    try:
        while True:
            data = await reader.read(PIECE)
            if not data:
                break
            held += len(data)
            waiting.put_nowait((link.due(len(data), loop.time()), data))
            while held > room:
                freed.clear()
                await freed.wait()
        waiting.put_nowait((loop.time() + link.delay, None))
        await carrier
    except (ConnectionError, OSError):
        carrier.cancel()


async def main(target, delay, rate):
    up, down = Link(rate, delay), Link(rate, delay)

    async def accept(reader, writer):
        # A connection costs a round trip before its first byte can pass.
        await asyncio.sleep(2 * delay)
        try:
            there, back = await asyncio.open_connection("127.0.0.1", target, limit=PIECE)
        except OSError:
            writer.close()
            return
        await asyncio.gather(relay(reader, back, up), relay(there, writer, down), return_exceptions=True)
        for end in (writer, back):
            end.close()

    server = await asyncio.start_server(accept, "127.0.0.1", 0, limit=PIECE)
    print(f"listening on {server.sockets[0].getsockname()[1]}", flush=True)
    ended = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, ended.set)
    await ended.wait()
    print(f"carried {up.carried} {down.carried}", flush=True)


asyncio.run(main(int(sys.argv[1]), float(sys.argv[2]) / 1000, float(sys.argv[3])))
