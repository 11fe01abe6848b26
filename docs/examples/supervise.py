"""Supervise a test: python supervise.py [URL of `synchroscope monitor`] [LIMIT in ms].

It ends with code 1 where an actuator is later than the limit for certain, by more than two standard deviations, and
adds the reason to the record. It stops no rig: that is the interlock's part.
"""

# %%
import sys

from monitor import Connection, RequestError, Row, ServiceLostError, connect


def too_late(row: Row, limit: float) -> str:
    """Return which actuator is later than the limit [s], in words; empty where none is."""
    for actuator, values in row.items():
        delay, sd = values.get("broadband_delay", 0.0), values.get("broadband_delay_sd", 0.0)
        if delay - 2.0 * sd > limit:  # never where they are NaN
            return f"{actuator} is {1e3 * delay:.1f} ± {1e3 * sd:.1f} ms late at {row.time:.2f} s"
    return ""


def supervise(connection: Connection, limit: float) -> str:
    """Return why the test should end; empty where the stream ended first."""
    for row in connection:
        if why := too_late(row, limit):
            connection.note(f"beyond the limit of {1e3 * limit:g} ms: {why}")
            return why
    return ""


# %%
if __name__ == "__main__":
    try:
        url, limit = (*sys.argv[1:], *("tcp://127.0.0.1:5556", "20")[len(sys.argv) - 1 :])
        with connect(url) as connection:
            sys.exit(supervise(connection, 1e-3 * float(limit)) or None)
    except (ServiceLostError, RequestError, ValueError) as problem:
        print(f"supervise: {problem}", file=sys.stderr)
        sys.exit(2)
