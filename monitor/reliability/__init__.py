"""Model reliability: the probability that a model still describes the measurement, from an ensemble of realizations.

Ao, Hu and Mahadevan, "Dynamics model validation using time-domain metrics": the probability that model and
measurement differ by less than a tolerance, at an instant, at every instant so far, and on average so far.
"""
