"""What drives a test: a force in N or a ground acceleration in m/s^2, as a function of time; random processes."""

from sim.excitation.base import Excitation, Loading
from sim.excitation.gaussian_process import GaussianProcess, SampledProcess, squared_exponential
from sim.excitation.random_motions import COMPONENTS, BandNoise, Earthquake
from sim.excitation.tones import Harmonic, Sweep

__all__ = [
    "COMPONENTS",
    "BandNoise",
    "Earthquake",
    "Excitation",
    "GaussianProcess",
    "Harmonic",
    "Loading",
    "SampledProcess",
    "Sweep",
    "squared_exponential",
]
