// The events as text: filtered and searched here, fetched when something is new.

import { element } from "./look.js";

const body = document.getElementById("log");
const box = document.getElementById("log-box");
const member = document.getElementById("log-member");
const kind = document.getElementById("log-kind");
const search = document.getElementById("log-search");
const traffic = document.getElementById("log-traffic");
const MOST = 1500;

let lines = [];
let epoch = -1;
let since = 0;
let busy = false;
let evidence = [];
const broken = new Map(); // an event -> the rule that it broke

for (const field of [member, kind]) field.addEventListener("change", draw);
search.addEventListener("input", draw);
traffic.addEventListener("change", () => {
  [lines, since, epoch] = [[], 0, -1];
  refreshLog();
});

export function showEvidence(events) {
  evidence = events.map((one) => `${one.who}/${one.index}`);
  if (!traffic.checked) {
    traffic.checked = true;
    [lines, since, epoch] = [[], 0, -1];
  }
  draw();
}

export function rememberVerdict(verdict) {
  if (!verdict || broken.size) return;
  for (const { name, violations } of verdict.guarantees) {
    for (const { sentence, events } of violations) for (const one of events) broken.set(`${one.who}/${one.index}`, `${name}: ${sentence}`);
  }
}

export async function refreshLog() {
  if (busy) return;
  busy = true;
  try {
    const answer = await fetch(`/api/log?since=${since}&epoch=${epoch}&traffic=${traffic.checked ? 1 : 0}`);
    const news = await answer.json();
    if (news.epoch !== epoch) lines = [];
    [epoch, since] = [news.epoch, news.last];
    if (news.lines.length || !lines.length) {
      lines = [...lines, ...news.lines].slice(-MOST);
      offer(member, lines.map((line) => line.who));
      offer(kind, lines.map((line) => line.kind));
      draw();
    }
  } finally {
    busy = false;
  }
}

function offer(field, values) {
  const known = new Set([...field.options].map((option) => option.value));
  for (const value of new Set(values)) if (!known.has(value)) field.append(element("option", { value }, value));
}

function draw() {
  const words = search.value.trim().toLowerCase();
  const shown = lines.filter((line) => (!member.value || line.who === member.value) && (!kind.value || line.kind === kind.value)
    && (!words || `${line.who} ${line.kind} ${line.text}`.toLowerCase().includes(words))).slice(-300);
  const atEnd = box.scrollTop + box.clientHeight >= box.scrollHeight - 30;
  body.replaceChildren(...shown.map((line) => element("tr", { class: evidence.includes(`${line.who}/${line.index}`) ? "evidence" : null },
    element("td", { class: "t" }, `${line.t.toFixed(4)}`), element("td", {}, line.who), element("td", {}, line.kind),
    element("td", {}, line.text, ...ruleOf(line)))));
  const marked = body.querySelector(".evidence");
  if (marked) box.scrollTop = marked.offsetTop - 60;
  else if (atEnd) box.scrollTop = box.scrollHeight;
}

function ruleOf(line) {
  const rule = broken.get(`${line.who}/${line.index}`);
  return rule ? [element("strong", { class: "violated" }, ` ✗ ${rule}`)] : [];
}
