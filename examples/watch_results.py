"""Print the delay of an actuator, live: python watch_results.py [ENDPOINT] [ACTUATOR]."""

import sys

from monitor import connect

endpoint, actuator = (*sys.argv[1:], *("tcp://127.0.0.1:5556", "north")[len(sys.argv) - 1 :])
for row in connect(endpoint):
    print(f"{row.time:.3f} s  {1e3 * row[actuator]['broadband_delay']:.2f} ms late", flush=True)
