// The page draws what the server computed: one stream of scenes, at most ten a second, drawn once per animation frame.

import { seconds, setText } from "./look.js";
import { drawMap, prepareMap, rememberAbout } from "./map.js";
import { drawMembers, drawMerges, drawRates, drawVerdict, drawWaits } from "./panels.js";
import { drawTimeline, prepareTimeline } from "./timeline.js";
import { refreshLog, rememberVerdict, showEvidence } from "./log.js";

const by = (id) => document.getElementById(id);
let latest = null;
let planned = false;
let sliding = false;
const typed = new Set(); // fields with something that was not used yet

async function act(what, words = {}) {
  const answer = await fetch("/api/act", {
    method: "POST", headers: { "content-type": "application/json", "x-ringcast": "act" }, body: JSON.stringify({ do: what, ...words }),
  });
  const said = await answer.json();
  say(said.error ?? null);
  return !said.error;
}

function say(trouble) {
  by("trouble").hidden = !trouble;
  setText(by("trouble"), trouble ?? "");
}

function goTo(t) {
  const about = latest?.about;
  if (!about) return;
  if (about.mode === "recording") act("seek", { t: Math.min(t, about.length) });
  if (about.mode === "simulated") act("back", { t: t + about.offset });
}

// ---- drawing

function draw() {
  planned = false;
  const { scene, about, trouble } = latest;
  rememberAbout(about);
  if (trouble) say(trouble);
  setText(by("title"), about.title);
  document.title = `ringcast: ${about.title}`;
  const on = scene.members.filter((member) => member.state === "member").length;
  const views = scene.current_views.length;
  setText(by("state"), on ? `${on} members in ${views === 1 ? "one view" : `${views} views`} at ${seconds(scene.now)}`
    : about.mode === "live" ? "no member of this user runs here" : "nobody is in a view");
  by("state").dataset.views = views;
  if (about.verdict) about.violationTimes = about.verdict.guarantees.flatMap((one) => one.violations.map((v) => v.t)).filter((t) => t !== null);
  drawControls(scene, about);
  drawMap(scene, about);
  drawMembers(scene, about, act);
  drawTimeline(scene, about);
  drawWaits(scene);
  drawMerges(scene);
  drawRates(scene);
  drawVerdict(about, goTo, showEvidence);
  rememberVerdict(about.verdict);
  setText(by("missed"), about.missed ? `${about.missed} events were missed.` : "");
  refreshLog();
}

function drawControls(scene, about) {
  const simulated = about.mode === "simulated";
  by("controls").hidden = about.mode === "live";
  by("world-controls").hidden = !simulated;
  setText(by("map-hint"), simulated ? "Drag across links to cut them. Tab to a member and press k, f, i, r, l or c." : "");
  const playing = simulated ? about.playing : about.speed > 0;
  setText(by("play"), playing ? "pause" : "play");
  const end = about.mode === "recording" ? about.length : Math.max(scene.now, (about.furthest ?? 0) - (about.offset ?? 0));
  if (!sliding) {
    by("time").max = Math.max(end, 0.01);
    by("time").value = scene.now;
  }
  by("time").setAttribute("aria-valuetext", seconds(scene.now));
  setText(by("clock"), seconds(scene.now));
  for (const [field, value] of [["seed", about.seed], ["count", about.count]]) {
    if (simulated && !typed.has(field)) by(field).value = value;
  }
}

// ---- controls

by("play").onclick = () => act(by("play").textContent === "play" ? "play" : "pause");
by("step").onclick = () => act("step");
by("heal").onclick = () => act("heal");
by("speed").onchange = () => act("speed", { factor: Number(by("speed").value) });
by("time").oninput = () => { sliding = true; setText(by("clock"), seconds(Number(by("time").value))); };
by("time").onchange = () => { sliding = false; goTo(Number(by("time").value)); };
by("again").onclick = () => {
  act("again", { seed: Number(by("seed").value), members: Number(by("count").value) });
  typed.clear();
};
by("seed").oninput = by("count").oninput = (event) => typed.add(event.target.id);
by("share").onclick = async () => {
  const about = latest.about;
  const link = new URL(location.href);
  link.hash = new URLSearchParams({ seed: about.seed, members: about.count, t: about.time, acts: about.acts }).toString();
  history.replaceState(null, "", link);
  try {
    await navigator.clipboard.writeText(link.href);
    setText(by("share"), "link copied");
  } catch {
    setText(by("share"), "link is in the address bar");
  }
  setTimeout(() => setText(by("share"), "copy link"), 2000);
};

document.addEventListener("keydown", (event) => {
  const about = latest?.about;
  if (!about || about.mode === "live" || event.ctrlKey || event.metaKey || event.altKey) return;
  if (["INPUT", "SELECT", "TEXTAREA", "BUTTON", "SUMMARY"].includes(event.target.tagName)) return;
  const acts = {
    " ": () => by("play").click(),
    ".": () => act("step"),
    ",": () => goTo(Math.max(0, latest.scene.now - 1)),
    h: () => about.mode === "simulated" && act("heal"),
  };
  if (acts[event.key]) {
    event.preventDefault();
    acts[event.key]();
  }
});

// What stands behind the # of the address: a simulated run, or an event of a recording (the report links to those).
function openShared() {
  const shared = new URLSearchParams(location.hash.slice(1));
  if (shared.has("event") && latest?.about.mode === "recording") {
    const [who, index] = [shared.get("event").replace(/\/[^/]*$/, ""), Number(shared.get("event").replace(/.*\//, ""))];
    showEvidence([{ who, index }]);
    act("seek", { who, index });
    return;
  }
  if (!shared.has("seed") || latest?.about.mode !== "simulated") return;
  act("again", { seed: Number(shared.get("seed")), members: Number(shared.get("members") ?? 5), t: Number(shared.get("t") ?? 0), acts: shared.get("acts") ?? "" });
}

window.addEventListener("hashchange", openShared);
prepareMap(act);
prepareTimeline(goTo);
window.addEventListener("resize", () => { if (latest) draw(); });
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { if (latest) draw(); });

let first = true;
const stream = new EventSource("/api/stream");
stream.onmessage = (event) => {
  latest = JSON.parse(event.data);
  if (!planned) {
    planned = true;
    requestAnimationFrame(draw);
  }
  if (first) {
    first = false;
    openShared();
  }
};
stream.onerror = () => setText(by("state"), "the page lost its server; trying again …");
