"""Send one actuator in the plain form: python send_plain.py [ENDPOINT] [SAMPLES] [RATE]."""

import json
import math
import sys
import time

import zmq

endpoint, samples, rate = (*sys.argv[1:], *("tcp://127.0.0.1:5555", "10000", "1000")[len(sys.argv) - 1 :])
with zmq.Context() as context, context.socket(zmq.XPUB) as socket:
    socket.bind(endpoint)
    socket.poll(5000)  # wait for a subscriber: earlier messages would be lost
    start = time.monotonic()
    for index in range(int(samples)):
        t = index / float(rate)
        time.sleep(max(0.0, start + t - time.monotonic()))
        command, measured = (math.sin(2 * math.pi * (t - lag)) for lag in (0.0, 0.005))
        message = {"t": t, "command": command, "measured": measured, "last": index + 1 == int(samples)}
        socket.send(json.dumps({"rig": "example", "sample_rate": float(rate), **message}).encode())
    socket.close(linger=1000)
