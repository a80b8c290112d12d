// Views of each member over time, faults drawn across all of them. A click goes to that moment.

import { element, keyed, seconds, setText, shortKey, viewLabel } from "./look.js";
import { latestOfEachName } from "./map.js";
import { faultWords, paintBlocks, paintFaults } from "./paint.js";

const canvas = document.getElementById("timeline");
const LEFT = 76;
const ROW = 20;
const TOP = 26;
let span = { from: 0, to: 1 };
let go = null;

export function prepareTimeline(goTo) {
  go = goTo;
}

canvas.addEventListener("click", (event) => {
  if (go) go(timeAt(event.offsetX));
});

canvas.addEventListener("keydown", (event) => {
  const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
  if (go && step) {
    event.preventDefault();
    go(Math.max(0, canvas.now + (step * (span.to - span.from)) / 40));
  }
});

function timeAt(x) {
  const share = Math.min(1, Math.max(0, (x - LEFT) / (canvas.clientWidth - LEFT - 8)));
  return span.from + share * (span.to - span.from);
}

export function drawTimeline(scene, about) {
  const names = latestOfEachName(scene.members).map((member) => member.name);
  const end = about.mode === "recording" ? about.length : Math.max(scene.now, (about.furthest ?? 0) - (about.offset ?? 0));
  const from = about.mode === "live" ? Math.max(0, scene.now - 120) : 0;
  span = { from, to: Math.max(end, from + 1) };
  canvas.now = scene.now;
  const width = canvas.clientWidth;
  const height = TOP + names.length * ROW + 18;
  const scale = window.devicePixelRatio || 1;
  canvas.style.height = `${height}px`;
  if (canvas.width !== Math.round(width * scale) || canvas.height !== Math.round(height * scale)) {
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(height * scale);
  }
  const style = getComputedStyle(document.body);
  const ink = style.getPropertyValue("--ink");
  const soft = style.getPropertyValue("--soft");
  const bad = style.getPropertyValue("--bad");
  const paint = canvas.getContext("2d");
  paint.setTransform(scale, 0, 0, scale, 0, 0);
  paint.clearRect(0, 0, width, height);
  paint.font = "12px system-ui, sans-serif";
  const x = (t) => LEFT + ((t - span.from) / (span.to - span.from)) * (width - LEFT - 8);
  const row = new Map(names.map((name, n) => [name, TOP + n * ROW]));
  paint.fillStyle = ink;
  for (const [name, y] of row) paint.fillText(name.slice(0, 10), 4, y + 14);
  const inSight = (one) => (one.to ?? scene.now) >= span.from;
  const timed = (one) => ({ ...one, from: Math.max(one.from, span.from), to: one.to ?? scene.now });
  const blocks = scene.spans.filter((one) => row.has(shortKey(one.member)) && inSight(one)).map((one) => ({
    ...timed(one), label: viewLabel(one.view), top: row.get(shortKey(one.member)) + 2, height: ROW - 5,
  }));
  paintBlocks(paint, blocks, x, 1, ink);
  const faults = scene.faults.filter(inSight).map((one) => ({ ...timed(one), words: faultWords(one) }));
  paintFaults(paint, faults, x, 1, { top: TOP - 6, bottom: height - 16, words: 12, bad, soft });
  for (const one of scene.suspicions) {
    const y = row.get(shortKey(one.by));
    if (y === undefined || one.t < span.from) continue;
    paint.fillStyle = ink;
    paint.fillText("?", x(one.t) - 3, y + 14);
  }
  for (const violation of about.violationTimes ?? []) {
    paint.fillStyle = bad;
    paint.fillText("✗", x(violation) - 4, TOP + 4);
    paint.fillRect(x(violation), TOP, 1, height - TOP - 16);
  }
  paint.fillStyle = ink;
  paint.fillRect(x(scene.now) - 0.5, TOP - 4, 1.5, height - TOP - 12);
  paint.fillStyle = soft;
  const step = niceStep(span.to - span.from);
  for (let t = Math.ceil(span.from / step) * step; t <= span.to; t += step) {
    paint.fillText(`${Number(t.toFixed(6))} s`, x(t), height - 4);
  }
  drawViews(scene);
}

function niceStep(length) {
  const rough = length / 8;
  const power = 10 ** Math.floor(Math.log10(rough));
  return [1, 2, 5, 10].map((n) => n * power).find((step) => step >= rough);
}

function drawViews(scene) {
  const list = document.getElementById("views");
  const latest = scene.views.slice(-30).reverse();
  keyed(list, latest, (view) => view.id, () => element("li"), (item, view) => {
    const names = view.members.map(shortKey).join(", ");
    const merged = view.subgroups.length ? `, merged from ${view.subgroups.map((side) => side.map(shortKey).join("")).join(" and ")}` : "";
    const primary = view.primary === null || view.primary === undefined ? "" : view.primary ? ", primary" : ", not primary";
    setText(item, `${seconds(view.t)}: ${viewLabel(view.id)} = ${names}${merged}${primary}`);
  });
  for (const view of latest) list.append(list.keyedChildren.get(view.id));
}
