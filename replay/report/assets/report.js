"use strict";
// values under the pointer, or at the place that the arrow keys move: read from the paths of the curves
for (const svg of document.querySelectorAll("svg.rows")) {
  const d = svg.dataset, left = +d.left, width = +d.width, row = +d.row, from = +d.from, to = +d.to;
  const output = svg.parentElement.querySelector("output");
  const curves = [...svg.querySelectorAll("g.row")].flatMap((g) =>
    [...g.querySelectorAll("path[data-name]")].map((path) => ({
      name: path.dataset.name, unit: g.dataset.unit, low: +g.dataset.low, high: +g.dataset.high, path, points: null })));
  const cross = document.createElementNS("http://www.w3.org/2000/svg", "line");
  cross.setAttribute("class", "cross");
  let at = width / 2;
  const read = (curve) => {
    curve.points ??= (curve.path.getAttribute("d").match(/[-\d.]+ [-\d.]+/g) || []).map((p) => p.split(" ").map(Number));
    let best = null, nearest = 6;
    for (const [x, y] of curve.points)
      if (Math.abs(x - at) < nearest) { nearest = Math.abs(x - at); best = y; }
    return best === null ? "–" : (curve.high - best * (curve.high - curve.low) / row).toPrecision(4);
  };
  const show = () => {
    at = Math.min(Math.max(at, 0), width);
    for (const [key, value] of [["x1", left + at], ["x2", left + at], ["y1", 22], ["y2", svg.viewBox.baseVal.height - 44]])
      cross.setAttribute(key, value);
    svg.append(cross);
    const values = curves.map((c) => `${c.name} ${read(c)}${c.unit ? " " + c.unit : ""}`);
    output.textContent = `${(from + at / width * (to - from)).toPrecision(5)} ${d.axis}: ${values.join(", ")}`;
  };
  svg.addEventListener("pointermove", (event) => {
    const box = svg.getBoundingClientRect();
    at = (event.clientX - box.left) * svg.viewBox.baseVal.width / box.width - left;
    show();
  });
  svg.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    at += step * width / (event.shiftKey ? 20 : 200);
    show();
  });
}
