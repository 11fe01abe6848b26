"""A model's time history laid beside a measured one: the measures engineers expect, offline, on plain arrays."""
