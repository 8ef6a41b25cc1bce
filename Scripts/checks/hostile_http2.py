#!/usr/bin/env python3
"""An HTTP/2 origin on 127.0.0.1 that misbehaves. `real-servers.py` runs it.

    PYTHONPATH=DIRECTORY_OF_H2 Scripts/checks/hostile_http2.py CERTIFICATE KEY

Prints its port. The path names what goes wrong with a body of 400,000 bytes, which `body` returns. A request for a range gets it.

    /whole          nothing goes wrong
    /reset          RST_STREAM in the middle of the body
    /goaway         GOAWAY in the middle of the body that lets its stream finish, then the rest
    /goaway-lost    GOAWAY in the middle of the body that says that the stream wasn't processed, and the end of the connection
    /goaway-open    the same, but the connection stays open
    /stall          the body stops in the middle, and the connection stays open, as if the flow-control window never opened
    /short          the stream ends before Content-Length
    /long           the stream has more bytes than Content-Length
    /misdirected    421 on each connection
"""
import socket, ssl, sys, threading

import h2.config, h2.connection, h2.errors, h2.events, h2.exceptions

LENGTH = 400_000


def body() -> bytes:
    return b"".join(b"%07d\n" % number for number in range(LENGTH // 8))


class Connection:
    def __init__(self, stream: ssl.SSLSocket):
        self.stream = stream
        self.h2 = h2.connection.H2Connection(h2.config.H2Configuration(client_side=False))
        # The bytes that each stream still has to send, and what comes after them.
        self.pending: dict[int, tuple[bytes, str]] = {}

    def serve(self) -> None:
        self.h2.initiate_connection()
        self.flush()
        while data := self.stream.recv(65536):
            for event in self.h2.receive_data(data):
                if isinstance(event, h2.events.RequestReceived):
                    self.answer(event.stream_id, {name.decode(): value.decode() for name, value in event.headers})
                elif isinstance(event, h2.events.StreamReset):
                    self.pending.pop(event.stream_id, None)
            for stream in list(self.pending):
                self.send(stream)
            self.flush()

    def flush(self) -> None:
        self.stream.sendall(self.h2.data_to_send())

    def answer(self, stream: int, request: dict[str, str]) -> None:
        fault = request[":path"].strip("/")
        content, status, extra = body(), "200", []
        if fault == "misdirected":
            self.h2.send_headers(stream, [(":status", "421"), ("content-length", "0")], end_stream=True)
            return
        if "range" in request:
            start = int(request["range"].removeprefix("bytes=").split("-")[0])
            status, extra = "206", [("content-range", f"bytes {start}-{LENGTH - 1}/{LENGTH}")]
            content, fault = content[start:], "whole"
        announced = len(content) - 1000 if fault == "long" else len(content)
        self.h2.send_headers(stream, [
            (":status", status), ("content-length", str(announced)), ("etag", '"v1"'), ("accept-ranges", "bytes"), *extra])
        middle = len(content) // 2
        self.pending[stream] = (content if fault in ["whole", "long"] else content[:middle], fault)

    def send(self, stream: int) -> None:
        content, fault = self.pending[stream]
        while content and (size := min(len(content), self.h2.local_flow_control_window(stream), self.h2.max_outbound_frame_size)):
            self.h2.send_data(stream, content[:size])
            content = content[size:]
        self.pending[stream] = (content, fault)
        if content:
            return
        del self.pending[stream]
        # The client has the first half before something goes wrong.
        self.flush()
        if fault in ["whole", "long", "short"]:
            self.h2.end_stream(stream)
        elif fault == "reset":
            self.h2.reset_stream(stream, h2.errors.ErrorCodes.INTERNAL_ERROR)
        elif fault == "goaway":
            self.goaway(stream)
            self.pending[stream] = (body()[LENGTH // 2:], "whole")
            self.send(stream)
        elif fault in ["goaway-lost", "goaway-open"]:
            self.goaway(0)
            if fault == "goaway-lost":
                self.stream.shutdown(socket.SHUT_RDWR)

    def goaway(self, last: int) -> None:
        """Writes the frame itself, because h2 sends nothing after its own."""
        content = last.to_bytes(4, "big") + (0).to_bytes(4, "big")
        self.stream.sendall(len(content).to_bytes(3, "big") + b"\x07\x00" + (0).to_bytes(4, "big") + content)


def serve(client: socket.socket, context: ssl.SSLContext) -> None:
    try:
        with context.wrap_socket(client, server_side=True) as stream:
            Connection(stream).serve()
    except (OSError, h2.exceptions.ProtocolError):
        pass


def main() -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(sys.argv[1], sys.argv[2])
    context.set_alpn_protocols(["h2"])
    listener = socket.create_server(("127.0.0.1", 0))
    print(listener.getsockname()[1], flush=True)
    while True:
        client, _ = listener.accept()
        threading.Thread(target=serve, args=[client, context], daemon=True).start()


if __name__ == "__main__":
    main()
