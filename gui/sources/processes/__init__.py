"""Processes behind what is shown: a service, a replay, jobs that run once, and the sessions that keep them."""
