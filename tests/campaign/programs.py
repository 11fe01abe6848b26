"""Short programs that take what a service publishes, or ask something of it, until they are ended."""

from __future__ import annotations

SUBSCRIBERS = """
import sys, zmq
url, count = sys.argv[1], int(sys.argv[2])
with zmq.Context() as context:
    poller = zmq.Poller()
    for _ in range(count):
        socket = context.socket(zmq.SUB)
        socket.linger = 0
        socket.subscribe(b"")
        socket.connect(url)
        poller.register(socket, zmq.POLLIN)
    print("subscribed", file=sys.stderr, flush=True)
    while True:
        for socket, _ in poller.poll():
            try:
                while True:
                    socket.recv_multipart(zmq.NOBLOCK)
            except zmq.Again:
                pass
"""
"""Arguments: endpoint, how many subscribers."""

STALLED = """
import sys, time, zmq
with zmq.Context() as context, context.socket(zmq.SUB) as socket:
    socket.linger = 0
    socket.rcvhwm = 10
    socket.subscribe(b"")
    socket.connect(sys.argv[1])
    socket.recv_multipart()
    print("stalled", file=sys.stderr, flush=True)
    while True:
        time.sleep(60.0)
"""
"""Argument: endpoint. It takes one message and no more; where it is cut off, it comes again."""

ASKING = """
import sys
from monitor.messages.requests import NoteRequest
from monitor.transport.zeromq.requests import RequestClient
client, asked = RequestClient(sys.argv[1]), {}
print("asking", file=sys.stderr, flush=True)
number = 0
while True:
    text = f"{sys.argv[2]} {number}"
    asked[client.send(NoteRequest(text=text))] = text
    number += 1
    for answer in client.answers(0.2):
        # on the screen before it is killed: from then on the note must be there
        if answer.ok:
            print(asked.pop(answer.id), flush=True)
"""
"""Arguments: endpoint for requests, what the notes begin with. It prints every note that was carried out."""
