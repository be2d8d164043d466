"""relay.py HOST:PORT HOST:PORT: passes each connection to the first address on to the second, as a bad line would: every
piece is late, by a little more or less, and now and then one and all behind it by much more, as behind a segment that was
lost and is sent again. SIGUSR1 resets every connection. Ends when its standard input does."""

import asyncio
import random
import signal
import socket
import struct
import sys

LATE_S = (0.02, 0.1)
LOST = 0.03  # share of the pieces
SENT_AGAIN_S = 0.4
PIECE = 16 << 10
HELD = 64  # pieces on their way in each direction


class Relay:
    def __init__(self, to):
        self.to, self.writers, self.tasks = to, set(), set()

    def reset_all(self):
        for writer in [one for one in self.writers if not one.transport.is_closing()]:
            writer.transport.get_extra_info("socket").setsockopt(
                socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            writer.transport.abort()

    async def accept(self, reader, writer):
        self.tasks.add(asyncio.current_task())
        try:
            self.writers.add(writer)
            far_reader, far_writer = await asyncio.open_connection(*self.to)
            self.writers.add(far_writer)
            await asyncio.gather(self.carry(reader, far_writer), self.carry(far_reader, writer))
        except (OSError, asyncio.CancelledError):
            pass
        finally:
            for one in (writer, locals().get("far_writer")):
                if one:
                    self.writers.discard(one)
                    one.transport.abort()
            self.tasks.discard(asyncio.current_task())

    async def carry(self, reader, writer):
        loop = asyncio.get_running_loop()
        held = asyncio.Queue(HELD)

        async def deliver():
            while True:
                due, piece = await held.get()
                await asyncio.sleep(due - loop.time())
                if not piece:
                    writer.write_eof()
                    return
                writer.write(piece)
                await writer.drain()

        delivering = asyncio.create_task(deliver())
        try:
            while True:
                piece = await reader.read(PIECE)
                late = random.uniform(*LATE_S) + (SENT_AGAIN_S if random.random() < LOST else 0)
                await held.put((loop.time() + late, piece))
                if not piece:
                    await delivering
                    return
        finally:
            delivering.cancel()


def address(text):
    host, port = text.rsplit(":", 1)
    return host, int(port)


async def main():
    relay = Relay(address(sys.argv[2]))
    host, port = address(sys.argv[1])
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGUSR1, relay.reset_all)
    ended = asyncio.Event()
    loop.add_reader(sys.stdin, lambda: sys.stdin.buffer.read1(1) or ended.set())
    server = await asyncio.start_server(relay.accept, host, port)
    print("listening", flush=True)
    await ended.wait()
    server.close()
    for task in list(relay.tasks):
        task.cancel()


if __name__ == "__main__":
    asyncio.run(main())
