// Windows, waits, suspicions, merges, rates and the verdict.

import { colorOf, element, keyed, seconds, setAttribute, setText, shortKey, viewLabel } from "./look.js";
import { isDeaf, isFrozen, latestOfEachName } from "./map.js";
import { axisLook, lineSeries } from "./paint.js";

export function drawMembers(scene, about, act) {
  const parent = document.getElementById("members");
  keyed(parent, latestOfEachName(scene.members), (member) => member.name, (member) => makeMember(member, about, act), changeMember);
}

function makeMember(member, about, act) {
  const made = element("div", { class: "member", "data-member": member.name },
    element("div", { class: "head" }, element("b"), element("span", { class: "chip" }), element("span"), element("span")),
    element("div", { class: "window", role: "img" }, element("div", { class: "held" }), element("div"), element("div", { class: "words" })),
  );
  if (about.mode === "simulated") {
    const button = (label, what) => element("button", { type: "button", "data-act": label, onclick: what }, label);
    const name = member.name;
    made.append(element("div", { class: "acts" },
      button("kill", () => act(made.isOn ? "kill" : "start", { member: name })),
      button("freeze", () => act(isFrozen(name) ? "thaw" : "freeze", { member: name })),
      button("isolate", () => act("isolate", { member: name })),
      button("stop reading", () => act(isDeaf(name) ? "read" : "stop-reading", { member: name })),
      button("leave", () => act("leave", { member: name })),
    ));
  }
  return made;
}

function changeMember(made, member) {
  const [head, bar, acts] = made.children;
  const [name, chip, rates, place] = head.children;
  const on = member.state === "member" || member.state === "joining";
  made.isOn = on;
  setText(name, member.name);
  setText(chip, on ? viewLabel(member.view) : member.state);
  chip.style.borderColor = on ? colorOf(member.view) : "#7a7f87";
  setText(rates, `sends ${member.sent_per_second}/s, receives ${member.received_per_second}/s` +
    (member.repaired_per_second ? `, repairs ${member.repaired_per_second}/s` : ""));
  setText(place, `incarnation ${member.incarnation}, ${member.endpoint}`);
  const [held, marks, words] = bar.children;
  const share = (seqno) => member.capacity ? Math.min(1, Math.max(0, (seqno - member.low) / member.capacity)) : 0;
  held.style.width = `${100 * share(member.high)}%`;
  keyed(marks, Object.entries(member.delivered), ([receiver]) => receiver,
    ([receiver]) => element("div", { class: "mark", title: shortKey(receiver) }),
    (mark, [, seqno]) => { mark.style.left = `${100 * share(seqno)}%`; });
  const full = `low ${member.low}, high ${member.high}, ${member.held} of ${member.capacity} in the window`;
  setText(words, full);
  setAttribute(bar, "aria-label", `${member.name}: ${full}`);
  if (acts) {
    setText(acts.children[0], on ? "kill" : "start");
    setText(acts.children[1], isFrozen(member.name) ? "thaw" : "freeze");
    setText(acts.children[3], isDeaf(member.name) ? "go on reading" : "stop reading");
  }
}

export function drawWaits(scene) {
  const waits = scene.members.flatMap((member) => member.waiting.map((wait, n) => ({ ...wait, who: member.name, n })));
  lines("waits", waits, (wait) => `${wait.who}/${wait.what}/${wait.n}`,
    (wait) => `${wait.who}: ${wait.what} waits for ${wait.since_seconds.toFixed(1)} s${wait.because ? `: ${wait.because}` : ""}`, "nothing waits");
  lines("suspicions", scene.suspicions.slice(-8).reverse(), (one) => `${one.t}/${one.by}/${one.whom}`,
    (one) => `${seconds(one.t)}: ${shortKey(one.by)} suspects ${shortKey(one.whom)}${one.why ? ` (${one.why})` : ""}`, "none");
}

function lines(id, items, keyOf, words, none) {
  const list = document.getElementById(id);
  keyed(list, items.length ? items : [null], (item) => (item ? keyOf(item) : "none"),
    (item) => element("li", item ? {} : { class: "none" }), (node, item) => setText(node, item ? words(item) : none));
}

export function drawMerges(scene) {
  const parent = document.getElementById("merges");
  const merges = scene.merges.slice(-12).reverse();
  keyed(parent, merges.length ? merges : [null], (merge) => (merge ? merge.id : "none"),
    (merge) => (merge ? element("div", { class: "merge" }, element("b"), element("ol")) : element("p", { class: "none" }, "none yet")),
    (node, merge) => {
      if (!merge) return;
      setText(node.children[0], `${seconds(merge.t)}: led by ${shortKey(merge.id)}${merge.end ? `, ${merge.end}` : ", under way"}`);
      keyed(node.children[1], merge.steps, (step) => `${step.t}/${step.member}/${step.step}/${step.outcome ?? ""}`, () => element("li"),
        (item, step) => setText(item, `${seconds(step.t)} ${shortKey(step.member)}: ${step.step}${step.outcome ? ` (${step.outcome})` : ""}`));
    });
  for (const merge of merges) parent.append(parent.keyedChildren.get(merge.id));
}

let chart = null;
let chartNames = "";
export function drawRates(scene) {
  const rates = scene.rates;
  const parent = document.getElementById("rates");
  const style = getComputedStyle(document.body);
  const key = `${rates.members.join()} ${style.getPropertyValue("--ink")} ${parent.clientWidth}`;
  const data = [rates.t, ...rates.rows];
  if (key !== chartNames) {
    chartNames = key;
    if (chart) chart.destroy();
    const axis = axisLook(style);
    chart = new window.uPlot({
      width: Math.max(240, parent.clientWidth), height: 200, cursor: { drag: { setScale: false } },
      scales: { x: { time: false } }, axes: [axis, { ...axis, size: 60 }],
      series: [{ label: "time (s)" }, ...rates.members.map((member, n) => lineSeries(shortKey(member), n))],
    }, data, parent);
  } else chart.setData(data);
}

export function drawVerdict(about, goTo, showEvidence) {
  const section = document.getElementById("verdict-section");
  if (!about.verdict || section.dataset.done) return;
  section.dataset.done = "yes";
  section.hidden = false;
  const parent = document.getElementById("verdict");
  const { verdict, reasons, guarantees } = about.verdict;
  parent.append(element("p", { class: verdict }, `${verdict}${reasons.length ? `: ${reasons.join("; ")}` : ""}`));
  parent.append(element("div", { class: "guarantees" }, ...guarantees.map((one) =>
    element("span", { class: one.verdict }, `${one.name} ${one.verdict}, ${one.examined} examined`))));
  const found = guarantees.flatMap((one) => one.violations.map((violation) => ({ name: one.name, ...violation })));
  const list = element("div", { class: "violations" });
  for (const violation of found) {
    list.append(element("button", { type: "button", onclick: () => {
      showEvidence(violation.events);
      if (violation.t !== null) goTo(violation.t);
    } }, `${violation.name}${violation.t === null ? "" : ` at ${seconds(violation.t)}`}: ${violation.sentence}`));
  }
  parent.append(list);
}
