"""ZeroMQ sockets: publishers, subscribers, requests; what comes in and what goes out."""
