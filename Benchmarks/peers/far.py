#!/usr/bin/env python3
"""A far server: relays TCP with a delay each way and a rate that all connections share each way.

usage: far.py TARGET_PORT DELAY_MS BYTES_PER_SECOND      prints `listening on PORT`, and, ended by SIGTERM,
                                                         `carried UP DOWN`: the bytes of each direction

Every piece leaves DELAY_MS after it has come in, and no earlier than the link, shared by all connections of that
direction, has carried what came before it. What is under way is bounded by the link's bandwidth-delay product and one
buffer, as on a real path, so that a sender is held back and does not fill the proxy's memory. What waits for a
connection that is gone takes none of the link's time.
"""
import asyncio
import signal
import sys

PIECE = 64 << 10


class Link:
    def __init__(self, rate, delay):
        self.rate, self.delay, self.free, self.carried = rate, delay, 0.0, 0
        self.turn = asyncio.Lock()

    async def carry(self, count, since, is_gone):
        """Waits until it has carried a piece that came in at `since`; when that arrives on the other side."""
        async with self.turn:
            if is_gone():
                raise ConnectionError
            # A sleep that is too long costs the link nothing: it counts from when it was free. Nobody sleeps for less
            # than a clock tick, which small pieces would each pay for.
            self.free = max(self.free, since) + count / self.rate
            ahead = self.free - asyncio.get_running_loop().time()
            if ahead > 0.002:
                await asyncio.sleep(ahead)
            return self.free + self.delay


async def relay(reader, writer, link):
    loop = asyncio.get_running_loop()
    room = max(4 * PIECE, int(link.rate * link.delay * 2) + 4 * PIECE)
    waiting, under_way = asyncio.Queue(), asyncio.Queue()
    held, freed = 0, asyncio.Event()

    async def take():
        nonlocal held
        while data := await reader.read(PIECE):
            held += len(data)
            waiting.put_nowait((loop.time(), data))
            while held > room:
                freed.clear()
                await freed.wait()
        waiting.put_nowait((loop.time(), b""))

    async def carry():
        while True:
            since, data = await waiting.get()
            due = await link.carry(len(data), since, writer.transport.is_closing)
            under_way.put_nowait((due, data))
            if not data:
                return

    async def give():
        nonlocal held
        while True:
            due, data = await under_way.get()
            await asyncio.sleep(max(0.0, due - loop.time()))
            if not data:
                break
            writer.write(data)
            await writer.drain()
            link.carried += len(data)
            held -= len(data)
            freed.set()
        if writer.can_write_eof():
            writer.write_eof()

    try:
        async with asyncio.TaskGroup() as tasks:
            for step in (take, carry, give):
                tasks.create_task(step())
    except* (ConnectionError, OSError):
        pass


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
        async def asks():
            await relay(reader, back, up)
            # Who asks ends its side only when it is gone: nothing more is carried for it.
            writer.close()

        await asyncio.gather(asks(), relay(there, writer, down))
        for end in (writer, back):
            end.close()

    server = await asyncio.start_server(accept, "127.0.0.1", 0, limit=PIECE)
    print(f"listening on {server.sockets[0].getsockname()[1]}", flush=True)
    ended = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, ended.set)
    await ended.wait()
    print(f"carried {up.carried} {down.carried}", flush=True)


asyncio.run(main(int(sys.argv[1]), float(sys.argv[2]) / 1000, float(sys.argv[3])))
