"""Send two actuators in the native form: python send_native.py [ENDPOINT] [SAMPLES] [RATE]."""

import sys
import time

import numpy as np
import zmq

from monitor.messages.blocks import Channel, Role, SignalBlock, Stream
from monitor.wire.native import Encoder

endpoint, samples, rate = (*sys.argv[1:], *("tcp://127.0.0.1:5555", "10000", "1000")[len(sys.argv) - 1 :])
actuators = ("north", "south")
channels = tuple(Channel(f"{a}.{r}", r, "m", a) for a in actuators for r in (Role.COMMAND, Role.MEASURED))
stream, encoder = Stream("example", time.time_ns(), float(rate), channels), Encoder()
with zmq.Context() as context, context.socket(zmq.XPUB) as socket:
    socket.bind(endpoint)
    socket.poll(5000)  # wait for a subscriber: earlier messages would be lost
    start = time.monotonic()
    for index in range(0, int(samples), 10):
        t = np.arange(index, min(index + 10, int(samples))) / stream.sample_rate
        time.sleep(max(0.0, start + t[-1] - time.monotonic()))
        signals = [np.sin(2 * np.pi * (t - lag)) for lag in (0.0, 0.005, 0.0, 0.008)]
        last = index + len(t) == int(samples)
        socket.send_multipart(encoder.encode(SignalBlock(stream, index, t[0], np.stack(signals, axis=1), last)))
    socket.close(linger=1000)
