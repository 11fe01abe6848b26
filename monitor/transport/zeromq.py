"""The ZeroMQ transport in one place: what comes in, what goes out, and both ends of each."""

from monitor.transport.curve import Keys
from monitor.transport.endpoint import TransportError
from monitor.transport.publisher import SignalPublisher
from monitor.transport.request_inlet import RequestInlet
from monitor.transport.requests import RequestClient, requests_url
from monitor.transport.subscriber import ResultSubscriber
from monitor.transport.zeromq_sink import ZmqResultSink
from monitor.transport.zeromq_source import ZmqSource

__all__ = [
    "Keys",
    "RequestClient",
    "RequestInlet",
    "ResultSubscriber",
    "SignalPublisher",
    "TransportError",
    "ZmqResultSink",
    "ZmqSource",
    "requests_url",
]
