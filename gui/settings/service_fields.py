"""The settings of a service, as the dialog shows them; they are those of its settings file."""

from __future__ import annotations

from gui.settings.endpoint_check import can_bind, can_connect
from gui.settings.outlet_fields import OUTLET_SECTIONS
from gui.settings.setting_field import SettingField, SettingsSection
from monitor.config import (
    MEASURES,
    IndicatorSettings,
    RecordSettings,
    ReliabilitySettings,
    ResultSettings,
    StreamSettings,
)

_F = SettingField
_STREAM = (
    _F(
        "connect",
        "Rigs that publish",
        "Their endpoints, separated by commas.",
        "names",
        empty="tcp://127.0.0.1:5555",
        check=can_connect,
    ),
    _F(
        "bind",
        "Rigs that connect",
        "Endpoints that are opened for them, separated by commas.",
        "names",
        empty="none",
        check=can_bind,
    ),
    _F("rig", "Only this rig", "Others are left out.", "text", empty="the first that speaks"),
    _F(
        "sample_rate",
        "Sample rate",
        "Only for plain senders that say neither a rate nor times.",
        unit="Hz",
        empty="as the rig says",
    ),
    _F("stale_after", "Stale after", "Silence after which the stream is called stale.", unit="s"),
)
_INDICATORS = (
    _F(
        "measures",
        "Measures",
        "What is computed; what nobody reads can be left out.",
        "several",
        choices=tuple((name, name.replace("_", " ")) for name in MEASURES),
    ),
    _F(
        "window",
        "Window",
        "Long enough for 2.5 cycles of the slowest motion that matters; longer answers later.",
        unit="s",
    ),
    _F("every", "Every", "Results at sample numbers that this divides; it changes no value.", unit="samples"),
    _F(
        "band",
        "Band",
        "Where the dominant frequency is sought.",
        "pair",
        unit="Hz",
        empty="up to a tenth of the rate",
    ),
    _F(
        "bandpass",
        "Band-pass",
        "Filters command, measured and force alike before anything is computed.",
        "pair",
        unit="Hz",
        empty="no filter",
    ),
    _F(
        "peak",
        "Peak of FDB",
        "As printed, each signal is read at its own peak.",
        "choice",
        choices=(("command", "the command's"), ("own", "each its own, as printed")),
    ),
    _F(
        "taper",
        "Taper of FDB",
        "The window function.",
        "choice",
        choices=tuple((name, name) for name in ("hann", "hamming", "blackman", "rectangular")),
    ),
    _F(
        "image_correction",
        "Image correction",
        "Without it FDB's bin stands as it is, inexact for a few cycles.",
        "switch",
    ),
    _F(
        "delay_of",
        "FDB delay of",
        "The motion is right in an earthquake too; the tone is as printed: the phase over the dominant frequency.",
        "choice",
        choices=(("motion", "the motion"), ("tone", "the tone, as printed")),
    ),
    _F(
        "noise_correction", "Noise correction", "Without it PAEI is the regression of the printed equation.", "switch"
    ),
    _F("gate", "Gate", "Smallest amplitude of the command that gets a value.", unit="its unit"),
    _F(
        "relative_gate",
        "Relative gate",
        "The same, of the largest amplitude that has lasted two windows.",
        unit="times",
    ),
    _F("max_delay", "Largest delay", "That correlation looks for.", unit="s"),
    _F("transfer_segment", "Transfer segment", "Frequency resolution is one over this.", unit="s"),
    _F("transfer_memory", "Transfer memory", "Time constant of the exponential average.", unit="s"),
)
_LIMIT_NAMES = (
    ("instantaneous", "Instantaneous"),
    ("first_passage", "First-passage"),
    ("accumulated", "Accumulated"),
    ("windowed", "Windowed"),
)
_RELIABILITY = (
    _F(
        "channel",
        "Channel",
        "Which channel the ensemble speaks of; several sites separated by commas.",
        "names",
        empty="no model is judged",
    ),
    _F(
        "ensemble",
        "Ensemble",
        "Its realizations, .npz or HDF5; a file for each channel, separated by semicolons.",
        "files",
        empty="no model is judged",
    ),
    _F(
        "tolerance",
        "Tolerance",
        "A share such as 8%, a number in the channel's unit, or a file of time,tolerance.",
        "amount",
    ),
    _F(
        "policy",
        "Tolerance reference",
        "What a tolerance in percent is a share of.",
        "choice",
        choices=(
            (None, "as the tolerance is written"),
            ("literal", "the model's value, literally"),
            ("floored", "the value, not below the reference"),
            ("peak", "the reference"),
            ("absolute", "absolute: no share"),
            ("varying", "varying: a file"),
        ),
    ),
    _F(
        "reference",
        "Reference",
        "Of floored and peak, in the channel's unit.",
        empty="rms or peak of the model's mean",
    ),
    _F("start", "Start", "The model's time 0, after the rig's first sample.", unit="s"),
    _F("shift", "Shift", "How much later the channel is read, as validate tells it.", unit="s"),
    _F("window", "Window", "Of the windowed reliability.", unit="s"),
    _F("after", "Decide after", "Earliest decision time.", unit="s", empty="a tenth of the ensemble's time"),
    *(
        _F(
            f"limits.{key}",
            name,
            "Reject under the first, accept from the second, 0 to 1.",
            "pair",
            empty="decides nothing",
        )
        for key, name in _LIMIT_NAMES
    ),
)
_RESULTS = (
    _F("publish", "Publish at", "Where results go.", "text", check=can_bind),
    _F("signals", "Send signals on", "Beside the results; without them there are no time histories here.", "switch"),
    _F(
        "requests",
        "Take requests at",
        "Where notes are taken and alarms acknowledged; none switches it off.",
        "text",
        empty="nowhere",
        check=can_bind,
    ),
)
_RECORD = (
    _F(
        "path", "Record to", "A file, or a folder where every run gets a name.", "folder", empty="nothing is recorded"
    ),
    _F("flush_interval", "Flush every", "A kill loses no more than this.", unit="s"),
)
SERVICE_SECTIONS = (
    SettingsSection("stream", "Rig", "Where the signals come from.", StreamSettings, _STREAM),
    SettingsSection(
        "indicators", "Indicators", "What is computed of command and measured.", IndicatorSettings, _INDICATORS
    ),
    SettingsSection("reliability", "Model", "A model that is judged live.", ReliabilitySettings, _RELIABILITY),
    SettingsSection("results", "Results", "Where results go.", ResultSettings, _RESULTS),
    SettingsSection("record", "Recording", "Where runs are kept.", RecordSettings, _RECORD),
    *OUTLET_SECTIONS,
)
"""The sections of a settings file, and the pages of the dialog; they hold for the next service that is started."""
