"""Reports in a real browser: nothing on its console, nothing wider than the page, readings, and the printed pages."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from html import escape, unescape
from pathlib import Path

import pytest

from monitor.__main__ import main
from tests.needs import needs, program
from tests.records import Records
from tests.replay.report_runs import HOSTILE, NOTE, record_run

pytest.importorskip("jinja2")
pytestmark = needs("chromium")
CHROMIUM = program("chromium") or program("chromium-browser") or program("google-chrome")

Browse = Callable[..., subprocess.CompletedProcess[bytes]]

# what is wider than its page, except in the tables that scroll; then what a figure reads at its right end
_MEASURE = """
<!DOCTYPE html><iframe width="{width}" height="900" srcdoc="{page}"></iframe><pre></pre><script>
document.querySelector("iframe").onload = (event) => {{
  const page = event.target.contentDocument, wide = [], inner = page.documentElement.clientWidth;
  for (const one of page.querySelectorAll("body *"))
    if (!one.closest("table, svg svg, .skip") && one.getBoundingClientRect().right > inner + 0.5)
      wide.push(one.textContent);
  const figure = page.querySelector("svg.rows");
  figure.dispatchEvent(new page.defaultView.KeyboardEvent("keydown", {{key: "End"}}));
  figure.dispatchEvent(new page.defaultView.KeyboardEvent("keydown", {{key: "ArrowLeft", shiftKey: true}}));
  document.querySelector("pre").textContent = JSON.stringify({{
    wide, inner, scroll: page.documentElement.scrollWidth, reading: page.querySelector("output").textContent,
    lead: page.querySelector(".lead").innerText, pictures: page.querySelectorAll("figure > svg").length,
    scripts: page.scripts.length }});
}};
</script>
"""


@pytest.fixture(scope="module")
def browse(tmp_path_factory) -> Browse:
    profile = tmp_path_factory.mktemp("browser")

    def run(*words: object) -> subprocess.CompletedProcess[bytes]:
        options = (
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            f"--user-data-dir={profile}",
        )
        command = [str(CHROMIUM), *options, "--enable-logging=stderr", *map(str, words)]
        return subprocess.run(command, capture_output=True, check=True, timeout=120)

    return run


def measured(browse: Browse, page: Path, width: int) -> dict[str, object]:
    """Return what the page is in a frame of that width, without the policy, which admits no script of a test."""
    text = re.sub('<meta http-equiv="Content-Security-Policy"[^>]*>', "", page.read_text("utf-8"))
    frame = page.with_name("frame.html")
    frame.write_text(_MEASURE.format(width=width, page=escape(text)), "utf-8")
    done = browse("--virtual-time-budget=3000", "--dump-dom", frame.as_uri())
    return json.loads(unescape(re.search(r"<pre>(.*?)</pre>", done.stdout.decode(), re.DOTALL).group(1)))


def check(browse: Browse, page: Path) -> dict[str, object]:
    """Open a page as it is, and in frames of two widths; return what it is in the narrow one."""
    shown = browse("--dump-dom", page.as_uri())
    assert b"CONSOLE" not in shown.stderr
    assert b"</html>" in shown.stdout
    for width in (1280, 400):
        found = measured(browse, page, width)
        assert (found["wide"], found["scroll"]) == ([], found["inner"])
        assert width - 20 <= found["inner"] <= width  # a scroll bar
        assert found["scripts"] == 1
    return found


@pytest.mark.parametrize("bad", [False, True])
def test_a_run(browse: Browse, tmp_path, warm_kernels, bad: bool) -> None:
    page = tmp_path / "run.html"
    assert main(["report", str(record_run(tmp_path / "run.h5", bad=bad)), "-o", str(page)]) == 0
    found = check(browse, page)
    # of the simulation: roof's delay rises from 5 to 30 ms, at 2.5 Hz, where 2 sin(pi f tau) is 0.467
    assert "roof: between 5.0 ms and 30.0 ms late" in found["lead"]
    assert "an error of 46.7 %" in found["lead"]
    assert "takes away 23 % of critical" in found["lead"]
    assert found["pictures"] == 12
    delay = re.match(r"[\d.]+ s: broadband (\S+) ms, FDB (\S+) ms", found["reading"])
    # north's delay at the end of the simulation: 2 ms early
    assert float(delay.group(2)) == pytest.approx(-2.0, abs=0.5)
    printed = tmp_path / "run.pdf"
    browse("--no-pdf-header-footer", f"--print-to-pdf={printed}", page.as_uri())
    pages = re.findall(rb"/Type\s*/Page[^s]", printed.read_bytes())
    # a first page, three for each actuator, and those of events, channels and settings
    assert 9 <= len(pages) <= 14
    boxes = set(re.findall(rb"/MediaBox\s*\[([^\]]*)\]", printed.read_bytes()))
    assert {tuple(round(float(x)) for x in box.split()) for box in boxes} == {(0, 0, 595, 842)}
    if bad:
        shown = unescape(browse("--dump-dom", page.as_uri()).stdout.decode())
        assert HOSTILE in shown
        assert NOTE in shown


def test_a_script_or_a_picture_from_elsewhere_would_be_refused(browse: Browse, tmp_path, warm_kernels) -> None:
    page = tmp_path / "run.html"
    assert main(["report", str(record_run(tmp_path / "run.h5", duration=6.0)), "-o", str(page)]) == 0
    more = "<script>document.title = 'changed'</script><img src='http://127.0.0.1:9/x.png'></body>"
    page.write_text(page.read_text("utf-8").replace("</body>", more), "utf-8")
    shown = browse("--dump-dom", page.as_uri())
    assert shown.stderr.count(b"Content Security Policy") >= 2
    assert b"<title>changed" not in shown.stdout


def test_a_record_of_a_shaker(browse: Browse, records: Records, tmp_path, warm_kernels) -> None:
    page, table = tmp_path / "shaker.html", sorted(records.shaker.glob("*.csv"))[0]
    roles = "--command", "Shaker_Front_cmd_V", "--measured", "laser_front_mm", "--force", "force_front_N"
    assert main(["report", str(table), *roles, "-o", str(page)]) == 0
    found = check(browse, page)
    assert "ms late at" in found["lead"] or "ms late" in found["lead"]
    assert "A file of this format has no alarms and no notes" in page.read_text("utf-8")


def test_a_comparison(browse: Browse, tmp_path, warm_kernels) -> None:
    one, two = record_run(tmp_path / "one.h5"), record_run(tmp_path / "two.h5", bad=True)
    page = tmp_path / "page.html"
    assert main(["compare", str(one), str(two), str(one), "-o", str(page), "--tolerance", "ratio=0.1"]) == 1
    found = check(browse, page)
    assert "two.h5 beside " in found["lead"]
    # delay and ratio of three actuators
    assert found["pictures"] == 6
    # the delay of north, 2 ms early at the end, in the reference and in the other two
    reading = re.match(
        r"[\d.]+ s: \S+one.h5 \(1\) (\S+) ms, \S+two.h5 (\S+) ms, \S+one.h5 \(2\) (\S+) ms", found["reading"]
    )
    assert [float(each) for each in reading.groups()[::2]] == pytest.approx([-2.0, -2.0], abs=0.5)
    printed = tmp_path / "page.pdf"
    browse("--no-pdf-header-footer", f"--print-to-pdf={printed}", page.as_uri())
    # a first page, two for each actuator, and those of runs and settings
    assert 6 <= len(re.findall(rb"/Type\s*/Page[^s]", printed.read_bytes())) <= 10
    assert HOSTILE not in page.read_text("utf-8")
