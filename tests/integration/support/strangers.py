"""Peers that a cluster's port must not let in, and what became of each. Standard library only."""

import errno
import os
import select
import socket
import ssl
import time

from support.chalk import Failed

CONTROL = "chalk-control/1"
ADMITTED = b"A"
ANSWER_S = 15


def context_of(fleet=None, name=None, channel=CONTROL, highest=None):
    """A TLS client that looks at nothing, with the certificate of `name` in the folder `fleet`, if one is given."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    if highest:
        context.maximum_version = highest
    if channel:
        context.set_alpn_protocols([channel])
    if name:
        context.load_cert_chain(fleet / f"nodes/{name}.pem", fleet / f"nodes/{name}.key")
    return context


def call_on(address, context, source=None, then=b""):
    """How the port answers: the byte that it says, or why there is none. `then`: what is sent when it said that we are
    in; the answer is then what ended the connection."""
    raw = socket.create_connection(address, ANSWER_S, (source, 0) if source else None)
    try:
        raw.settimeout(ANSWER_S)
        with context.wrap_socket(raw, server_hostname="coordinator") as tls:
            said = tls.recv(1)
            if said == ADMITTED and then:
                deadline = time.monotonic() + ANSWER_S
                tls.sendall(then)
                while time.monotonic() < deadline:
                    if not tls.recv(4096):
                        return "hung up"
                raise Failed("a peer that breaks the rules was listened to on")
            return said.decode(errors="replace") or "hung up"
    except TimeoutError:
        raise Failed("no answer came, and the connection stands") from None
    except (ssl.SSLError, ConnectionError) as error:
        return str(error)
    finally:
        raw.close()


def send_raw(address, data, source=None):
    """How a connection ends on which `data` came that is no TLS."""
    with socket.create_connection(address, ANSWER_S, (source, 0) if source else None) as raw:
        raw.settimeout(ANSWER_S)
        try:
            raw.sendall(data)
            while raw.recv(4096):
                pass
            return "hung up"
        except TimeoutError:
            raise Failed("what is no TLS was listened to on") from None
        except ConnectionError as error:
            return str(error)


class Silent:
    """Connections that say nothing, or a byte now and then; what is hung up on comes again. On the caller's thread."""

    def __init__(self, address, count, sources):
        self.address, self.sources, self.count = address, sources, count
        self.sockets = {}  # by descriptor
        self.made = 0

    def tick(self):
        """Fills up to `count`, drops what has ended."""
        if self.sockets:
            poll = select.poll()
            for descriptor in self.sockets:
                poll.register(descriptor, select.POLLIN | select.POLLHUP | select.POLLERR)
            for descriptor, _ in poll.poll(0):
                try:
                    alive = bool(self.sockets[descriptor].recv(4096))
                except BlockingIOError:
                    alive = True
                except OSError:
                    alive = False
                if not alive:
                    self.sockets.pop(descriptor).close()
        for _ in range(min(self.count - len(self.sockets), 50)):
            one = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
            one.setblocking(False)
            one.bind((self.sources[self.made % len(self.sources)], 0))
            how = one.connect_ex(self.address)
            if how not in (0, errno.EINPROGRESS):
                one.close()
                raise OSError(how, os.strerror(how))
            self.sockets[one.fileno()] = one
            self.made += 1

    def drip(self, byte):
        """One byte more of a handshake that never ends, from each that is connected."""
        for one in self.sockets.values():
            try:
                one.send(byte)
            except OSError:
                pass  # tick() sees it

    def close(self):
        for one in self.sockets.values():
            one.close()
        self.sockets = {}
