// The charts of a report: one time axis, one cursor and one zoom for all of them, faults across every one.

import { element, setText } from "./look.js";
import { axisLook, lineSeries, paintBlocks, paintFaults } from "./paint.js";

const data = JSON.parse(document.getElementById("data").textContent);
const parent = document.getElementById("charts");
const stretch = document.getElementById("stretch");
const spanWords = document.getElementById("span");
const together = window.uPlot.sync("run");
const SIDE = 64;
const ROW = 22;
const PAPER = 680;
let charts = [];
let histogram = null;
let range = [0, 1];
let settingRange = false;
let onPaper = false;

// ---- the axis: places from 0 to 1

function along(points, value, from, to) {
  let low = 0;
  let high = points.length - 1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (points[middle][from] <= value) low = middle;
    else high = middle;
  }
  const [a, b] = [points[low], points[high]];
  const share = b[from] > a[from] ? (value - a[from]) / (b[from] - a[from]) : 0;
  return a[to] + share * (b[to] - a[to]);
}

function knots() {
  return stretch.checked ? data.knots : [[0, 0], [Math.max(data.length, 1e-6), 1]];
}

const placeOf = (t) => along(knots(), t, 0, 1);
const timeAt = (place) => along(knots(), Math.min(1, Math.max(0, place)), 1, 0);

// Round times that leave each other room, the roundest first.
function ticks(u, axis, min, max) {
  const chosen = [];
  const room = (axis === 0 ? 74 : 40) / u.bbox.width * (window.devicePixelRatio || 1) * (max - min);
  const [from, to] = [timeAt(min), timeAt(max)];
  for (let power = Math.ceil(Math.log10(Math.max(to - from, 1e-6))); power >= -6 && chosen.length < 30; power -= 1) {
    for (const part of [10, 5, 2, 1]) {
      const step = part * 10 ** power;
      if ((to - from) / step > 400) return sorted(chosen);
      for (let n = Math.ceil(from / step); n * step <= to; n += 1) {
        const place = placeOf(n * step);
        if (chosen.every((other) => Math.abs(other - place) >= room)) chosen.push(place);
      }
    }
  }
  return sorted(chosen);
}

const sorted = (places) => places.sort((a, b) => a - b);
const timeWords = (t) => `${Number(t.toFixed(t < 1 ? 4 : 3))} s`;

// ---- zoom

function show(min, max) {
  const wide = Math.min(1, Math.max(max - min, 1e-5));
  const left = Math.min(1 - wide, Math.max(0, min));
  range = [left, left + wide];
  settingRange = true;
  for (const chart of charts) chart.setScale("x", { min: range[0], max: range[1] });
  settingRange = false;
  setText(spanWords, `${timeWords(timeAt(range[0]))} to ${timeWords(timeAt(range[1]))}`);
}

function zoom(how) {
  const [min, max] = range;
  const wide = max - min;
  const acts = {
    in: () => show(min + wide / 4, max - wide / 4), out: () => show(min - wide / 2, max + wide / 2), left: () => show(min - wide / 3, max - wide / 3),
    right: () => show(min + wide / 3, max + wide / 3), all: () => show(0, 1),
  };
  acts[how]();
}

function jump(t) {
  const place = placeOf(t);
  const wide = Math.min(range[1] - range[0], 0.2);
  show(place - wide / 2, place + wide / 2);
  const [first] = charts;
  if (first) first.setCursor({ left: first.valToPos(placeOf(t), "x"), top: 20 });
}

// ---- drawing

function overlay(labels) {
  return (u) => {
    const unit = window.devicePixelRatio || 1;
    const paint = u.ctx;
    const style = getComputedStyle(document.body);
    const x = (t) => u.valToPos(placeOf(t), "x", true);
    const { left, top, width, height } = u.bbox;
    const [bad, soft] = [style.getPropertyValue("--bad"), style.getPropertyValue("--soft")];
    paint.save();
    paint.beginPath();
    paint.rect(left, 0, width, top + height);
    paint.clip();
    paint.font = `${11 * unit}px system-ui, sans-serif`;
    paint.textAlign = "left";
    paintFaults(paint, data.faults, x, unit, { top, bottom: top + height, words: labels ? top - 4 * unit : undefined, bad, soft });
    paint.fillStyle = bad;
    for (const t of data.violations) {
      paint.fillRect(x(t) - unit, top, 2 * unit, height);
      if (labels) paint.fillText("✗", x(t) + 3 * unit, top + 11 * unit);
    }
    paint.restore();
  };
}

function blocks(u) {
  const unit = window.devicePixelRatio || 1;
  const paint = u.ctx;
  const ink = getComputedStyle(document.body).getPropertyValue("--ink");
  const x = (t) => u.valToPos(placeOf(t), "x", true);
  const { left, top, width, height } = u.bbox;
  const row = height / Math.max(1, data.rows.length);
  paint.save();
  paint.beginPath();
  paint.rect(left, top, width, height);
  paint.clip();
  paint.font = `${11 * unit}px system-ui, sans-serif`;
  paint.textAlign = "left";
  paintBlocks(paint, data.blocks.map((one) => ({ ...one, top: top + one.row * row + 2 * unit, height: row - 5 * unit })), x, unit, ink);
  paint.fillStyle = ink;
  for (const one of data.suspicions) paint.fillText("?", x(one.t) - 3 * unit, top + (one.row + 0.7) * row);
  paint.restore();
}

function common(width, style) {
  const axis = axisLook(style);
  return {
    width,
    cursor: { y: false, sync: { key: together.key, scales: ["x", null] }, drag: { x: true, y: false, setScale: true }, focus: { prox: 24 } },
    scales: { x: { time: false, min: range[0], max: range[1] } },
    axes: [{ ...axis, splits: ticks, values: (u, places) => places.map((place) => timeWords(timeAt(place))) }],
  };
}

function onScale(u, key) {
  if (key !== "x" || settingRange) return;
  const { min, max } = u.scales.x;
  if (min !== range[0] || max !== range[1]) show(min, max);
}

const timeSeries = { label: "time", value: (u, place) => (place === null || place === undefined ? "" : timeWords(timeAt(place))) };

function makeTimeline(width, style) {
  const box = element("div", { class: "chart" }, element("h3", {}, "Views"));
  parent.append(box);
  const base = common(width, style);
  const height = data.rows.length * ROW + 64;
  const short = (name) => (name.length > 9 ? `${name.slice(0, 8)}…` : name);
  const count = Math.max(1, data.rows.length);
  const grid = Array.from({ length: 201 }, (_, n) => n / 200);
  return new window.uPlot({
    ...base, height, legend: { show: false }, padding: [18, 16, 0, 0],
    cursor: { ...base.cursor, points: { show: false } },
    scales: { ...base.scales, y: { range: [0, count] } },
    axes: [base.axes[0], {
      ...axisLook(style), size: SIDE, grid: { show: false }, ticks: { show: false }, stroke: style.getPropertyValue("--ink"),
      splits: () => data.rows.map((_, n) => count - n - 0.5), values: () => data.rows.map(short),
    }],
    series: [timeSeries, { label: "", stroke: "transparent", points: { show: false } }],
    hooks: { draw: [blocks, overlay(true)], setScale: [onScale] },
  }, [grid, grid.map(() => null)], box);
}

function makeChart(chart, width, style) {
  const box = element("div", { class: "chart" }, element("h3", {}, `${chart.title} `, element("small", {}, chart.unit)));
  parent.append(box);
  const base = common(width, style);
  const stepped = window.uPlot.paths.stepped({ align: 1 });
  const points = { show: Boolean(chart.points), size: 4 };
  return new window.uPlot({
    ...base, height: 170, padding: [10, 16, 0, 0], axes: [base.axes[0], { ...axisLook(style), size: SIDE, values: (u, values) => values.map(amount) }],
    series: [timeSeries, ...chart.series.map((one, n) => lineSeries(one.label, n, { paths: stepped, points, value: (u, v) => (v === null || v === undefined ? "" : amount(v)) }))],
    hooks: { draw: [overlay(false)], setScale: [onScale] },
  }, [chart.t.map(placeOf), ...chart.series.map((one) => one.values)], box);
}

function amount(value) {
  for (const [limit, unit] of [[1e9, "G"], [1e6, "M"], [1e4, "k"]]) {
    if (Math.abs(value) >= limit) return `${Number((value / (unit === "k" ? 1e3 : limit)).toPrecision(3))} ${unit}`;
  }
  return String(Number(value.toPrecision(4)));
}

function nanoseconds(ns) {
  for (const [limit, unit] of [[1e9, "s"], [1e6, "ms"], [1e3, "µs"]]) if (ns >= limit) return `${Number((ns / limit).toPrecision(3))} ${unit}`;
  return `${ns} ns`;
}

// 1, 10, 100 … and, where there is room, 2 and 5 between them.
function roundTimes(u, axis, min, max) {
  const parts = (max - min) * 64 < u.bbox.width / (window.devicePixelRatio || 1) * 2.2 ? [1, 2, 5] : [1];
  const found = [];
  for (let power = 0; power < 12; power += 1) for (const part of parts) found.push(Math.log2(part * 10 ** power));
  return found.filter((place) => place >= min && place <= max);
}

function makeHistogram(width, style) {
  const box = document.getElementById("histogram");
  const { low_ns: lows, counts, marks } = data.histogram;
  if (!box || !lows.length) return null;
  box.replaceChildren();
  const [ink, bad] = [style.getPropertyValue("--ink"), style.getPropertyValue("--bad")];
  const places = lows.map(Math.log2);
  const percentiles = (u) => {
    const unit = window.devicePixelRatio || 1;
    const { top, height } = u.bbox;
    u.ctx.save();
    u.ctx.font = `${11 * unit}px system-ui, sans-serif`;
    Object.entries(marks).forEach(([label, ns], n) => {
      const at = u.valToPos(Math.log2(Math.max(1000, ns)), "x", true);
      const isRight = at > u.bbox.left + u.bbox.width * 0.75;
      u.ctx.textAlign = isRight ? "right" : "left";
      u.ctx.fillStyle = bad;
      u.ctx.fillRect(at, top, unit, height);
      u.ctx.fillStyle = ink;
      u.ctx.fillText(`${label} ${nanoseconds(ns)}`, at + (isRight ? -4 : 4) * unit, top + (10 + 13 * n) * unit);
    });
    u.ctx.restore();
  };
  const axis = axisLook(style);
  return new window.uPlot({
    width, height: 210, cursor: { drag: { setScale: false } },
    scales: { x: { time: false, range: (u, min, max) => [min - 0.3, max + 0.6] }, y: { range: (u, min, max) => [0, max * 1.05] } },
    axes: [{ ...axis, splits: roundTimes, values: (u, all) => all.map((place) => nanoseconds(Math.round(2 ** place))) }, { ...axis, size: SIDE, values: (u, all) => all.map(amount) }],
    series: [{ label: "from", value: (u, place) => (place === null || place === undefined ? "" : nanoseconds(Math.round(2 ** place))) },
      lineSeries("messages", 0, { fill: "#0072b288", paths: window.uPlot.paths.bars({ size: [1, 100], gap: 0 }) })],
    hooks: { draw: [percentiles] },
  }, [places, counts], box);
}

function drawAll() {
  const style = getComputedStyle(document.body);
  const width = onPaper ? PAPER : Math.max(260, parent.clientWidth);
  for (const chart of charts) {
    together.unsub(chart);
    chart.destroy();
  }
  if (histogram) histogram.destroy();
  parent.replaceChildren();
  charts = [makeTimeline(width, style), ...data.charts.map((chart) => makeChart(chart, width, style))];
  charts.forEach((chart) => chart.over.addEventListener("dblclick", () => show(0, 1)));
  histogram = makeHistogram(width, style);
  show(...range);
}

// ---- controls

for (const button of document.querySelectorAll("[data-zoom]")) button.addEventListener("click", () => zoom(button.dataset.zoom));
for (const link of document.querySelectorAll("a.jump")) link.addEventListener("click", () => jump(Number(link.dataset.t)));
stretch.addEventListener("change", () => {
  const times = range.map(timeOnOtherAxis);
  drawAll();
  show(...times.map(placeOf));
});

// The range was set on the axis that was just left.
function timeOnOtherAxis(place) {
  const other = stretch.checked ? [[0, 0], [Math.max(data.length, 1e-6), 1]] : data.knots;
  return along(other, place, 1, 0);
}

let drawnFor = 0;
window.addEventListener("resize", () => {
  if (!onPaper && parent.clientWidth !== drawnFor) {
    drawnFor = parent.clientWidth;
    drawAll();
  }
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
matchMedia("print").addEventListener("change", (event) => {
  onPaper = event.matches;
  drawAll();
});
drawnFor = parent.clientWidth;
drawAll();
