// Members on a circle, and the links between them. In a simulated world links are cut by dragging across them, members
// isolated by dragging them out; every gesture has a key and a button as well.

import { colorOf, drawing, keyed, setAttribute, setText, shortKey, viewLabel } from "./look.js";

const RADIUS = 98;
const OUT = 138;
const svg = document.getElementById("map");
const linkLayer = drawing("g");
const nodeLayer = drawing("g");
svg.append(linkLayer, nodeLayer);
const knife = drawing("line", { class: "knife", visibility: "hidden" });
svg.append(knife);

let places = new Map();
let cuts = new Set();
let act = null;
let picked = null;
let drag = null;

export function prepareMap(doAct) {
  act = doAct;
}

export function drawMap(scene, about) {
  const canAct = about.mode === "simulated";
  const members = latestOfEachName(scene.members);
  places = new Map(members.map((member, n) => {
    const angle = (2 * Math.PI * n) / members.length - Math.PI / 2;
    return [member.name, { x: RADIUS * Math.cos(angle), y: RADIUS * Math.sin(angle), member }];
  }));
  cuts = new Set((about.cuts ?? []).map(([a, b]) => `${a}~${b}`));
  drawLinks(scene, members, canAct);
  keyed(nodeLayer, members, (member) => member.name, (member) => makeNode(member, canAct), (node, member) =>
    changeNode(node, member, about));
}

export function latestOfEachName(members) {
  const latest = new Map();
  for (const member of members) {
    const known = latest.get(member.name);
    if (!known || isOn(member) || !isOn(known)) latest.set(member.name, member);
  }
  return [...latest.values()].sort((a, b) => a.name.localeCompare(b.name, undefined, { numeric: true }));
}

function isOn(member) {
  return member.state === "member" || member.state === "joining";
}

function drawLinks(scene, members, canAct) {
  const both = new Map();
  for (const link of scene.links) {
    const [a, b] = [shortKey(link.from), shortKey(link.to)].sort();
    const pair = both.get(`${a}~${b}`) ?? { rate: 0, missing: 0 };
    pair.rate += link.per_second;
    pair.missing += link.missing_per_second;
    both.set(`${a}~${b}`, pair);
  }
  const pairs = [];
  for (let i = 0; i < members.length; i += 1) {
    for (let j = i + 1; j < members.length; j += 1) {
      const [a, b] = [members[i].name, members[j].name].sort();
      const key = `${a}~${b}`;
      const together = members[i].view && members[i].view === members[j].view && isOn(members[i]) && isOn(members[j]);
      if (both.has(key) || cuts.has(key) || together || canAct) {
        pairs.push({ key, a, b, together, ...(both.get(key) ?? { rate: 0, missing: 0 }) });
      }
    }
  }
  keyed(linkLayer, pairs, (pair) => pair.key, () => drawing("g", {},
    drawing("line", { class: "link" }), drawing("line", { class: "link-hit" }),
    drawing("text", { class: "cut-mark" }), drawing("text", { class: "rate" })), changeLink);
}

function changeLink(group, pair) {
  const [line, hit, mark, rate] = group.children;
  const from = places.get(pair.a);
  const to = places.get(pair.b);
  const isCut = cuts.has(pair.key);
  for (const one of [line, hit]) {
    setAttribute(one, "x1", from.x); setAttribute(one, "y1", from.y);
    setAttribute(one, "x2", to.x); setAttribute(one, "y2", to.y);
  }
  setAttribute(line, "class", `link${isCut ? " cut" : ""}${pair.missing ? " repairing" : ""}`);
  setAttribute(line, "stroke-width", isCut ? 2 : pair.together ? 0.8 + Math.min(5, Math.log10(1 + pair.rate)) : 0.4);
  setAttribute(group, "data-link", pair.key);
  hit.onclick = isCut && act ? () => act("mend", { links: [[pair.a, pair.b]] }) : null;
  setAttribute(mark, "x", (from.x + to.x) / 2); setAttribute(mark, "y", (from.y + to.y) / 2 + 4);
  setText(mark, isCut ? "✂" : "");
  setAttribute(rate, "x", from.x * 0.62 + to.x * 0.38); setAttribute(rate, "y", from.y * 0.62 + to.y * 0.38 - 2);
  setText(rate, places.size <= 6 && pair.rate ? `${pair.rate}/s${pair.missing ? `, ${pair.missing} missing` : ""}` : "");
}

function makeNode(member, canAct) {
  const node = drawing("g", { class: "node", tabindex: "0", role: canAct ? "button" : "img", "data-member": member.name },
    drawing("circle", { class: "body", r: 22 }), drawing("text", { class: "name", y: -2 }),
    drawing("text", { class: "view", y: 9 }), drawing("text", { class: "badge", y: 34 }));
  if (canAct) node.addEventListener("keydown", (event) => onKey(event, member.name));
  return node;
}

function changeNode(node, member, about) {
  const place = places.get(member.name);
  const frozen = (about.frozen ?? []).includes(member.name);
  const deaf = (about.not_reading ?? []).includes(member.name);
  const [body, name, view, badge] = node.children;
  if (!(drag && drag.name === member.name)) setAttribute(node, "transform", `translate(${place.x} ${place.y})`);
  setAttribute(node, "class", `node${isOn(member) ? "" : " gone"}${picked === member.name ? " picked" : ""}`);
  setAttribute(body, "stroke", isOn(member) ? colorOf(member.view) : "#7a7f87");
  setText(name, member.name.length > 9 ? `${member.name.slice(0, 8)}…` : member.name);
  setText(view, isOn(member) ? viewLabel(member.view) : member.state);
  const marks = [member.coordinator ? "coordinator" : "", member.observer ? "observer" : "", frozen ? "frozen" : "",
    deaf ? "not reading" : "", member.handler ? member.handler : "", member.primary === false ? "not primary" : ""];
  setText(badge, marks.filter(Boolean).join(", "));
  setAttribute(badge, "y", place.y < -RADIUS / 2 ? -27 : 34);
  const words = `${member.name}, ${isOn(member) ? `in view ${viewLabel(member.view)}` : member.state}`;
  setAttribute(node, "aria-label", [words, ...marks.filter(Boolean)].join(", "));
}

// ---- keys

function onKey(event, name) {
  const member = places.get(name).member;
  const on = isOn(member);
  const acts = {
    k: () => act(on ? "kill" : "start", { member: name }),
    i: () => act("isolate", { member: name }),
    l: () => act("leave", { member: name }),
    f: () => act(isFrozen(name) ? "thaw" : "freeze", { member: name }),
    r: () => act(isDeaf(name) ? "read" : "stop-reading", { member: name }),
    c: () => pick(name),
  };
  if (acts[event.key] && !event.ctrlKey && !event.metaKey && !event.altKey) {
    event.preventDefault();
    acts[event.key]();
  }
}

let latestAbout = {};
export function rememberAbout(about) {
  latestAbout = about;
}
export function isFrozen(name) {
  return (latestAbout.frozen ?? []).includes(name);
}
export function isDeaf(name) {
  return (latestAbout.not_reading ?? []).includes(name);
}

function pick(name) {
  if (picked === null) picked = name;
  else if (picked === name) picked = null;
  else {
    const [a, b] = [picked, name].sort();
    act(cuts.has(`${a}~${b}`) ? "mend" : "cut", { links: [[a, b]] });
    picked = null;
  }
}

// ---- the mouse

function at(event) {
  const point = new DOMPoint(event.clientX, event.clientY);
  return point.matrixTransform(svg.getScreenCTM().inverse());
}

svg.addEventListener("pointerdown", (event) => {
  if (!act || latestAbout.mode !== "simulated") return;
  const node = event.target.closest(".node");
  const start = at(event);
  drag = { name: node ? node.dataset.member : null, node, start, end: start };
  if (node) node.focus();
  svg.setPointerCapture(event.pointerId);
});

svg.addEventListener("pointermove", (event) => {
  if (!drag) return;
  drag.end = at(event);
  if (drag.node) drag.node.setAttribute("transform", `translate(${drag.end.x} ${drag.end.y})`);
  else {
    knife.setAttribute("visibility", "visible");
    for (const [name, value] of [["x1", drag.start.x], ["y1", drag.start.y], ["x2", drag.end.x], ["y2", drag.end.y]]) {
      knife.setAttribute(name, value);
    }
  }
});

svg.addEventListener("pointerup", () => {
  if (!drag) return;
  const { name, start, end } = drag;
  drag = null;
  knife.setAttribute("visibility", "hidden");
  if (name) {
    if (Math.hypot(end.x, end.y) > OUT && Math.hypot(end.x - start.x, end.y - start.y) > 20) act("isolate", { member: name });
    return;
  }
  if (Math.hypot(end.x - start.x, end.y - start.y) < 8) return;
  const links = [...linkLayer.children].map((group) => group.dataset.link).filter((key) => !cuts.has(key))
    .map((key) => key.split("~")).filter(([a, b]) => crosses(start, end, places.get(a), places.get(b)));
  if (links.length) act("cut", { links });
});

function crosses(p, q, a, b) {
  const side = (u, v, w) => Math.sign((v.x - u.x) * (w.y - u.y) - (v.y - u.y) * (w.x - u.x));
  return side(p, q, a) !== side(p, q, b) && side(a, b, p) !== side(a, b, q);
}
