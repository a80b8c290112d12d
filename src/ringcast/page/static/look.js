// Colours of views and small pieces of DOM. The palette is that of Okabe and Ito, safe for the colour-blind;
// a view is always named as well, so colour is never the only sign.

const PALETTE = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#9a8700", "#7a7f87"];
const given = new Map();

export function colorOf(view) {
  if (!view) return "#7a7f87";
  if (!given.has(view)) given.set(view, PALETTE[given.size % (PALETTE.length - 1)]);
  return given.get(view);
}

// Black or white, whichever stands out on this colour.
export function inkOn(color) {
  const [r, g, b] = [1, 3, 5].map((at) => parseInt(color.slice(at, at + 2), 16));
  return 0.299 * r + 0.587 * g + 0.114 * b > 140 ? "#000000" : "#ffffff";
}

export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  return filled(made, attributes, children);
}

export function drawing(tag, attributes = {}, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  return filled(made, attributes, children);
}

function filled(made, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value !== null && value !== undefined && value !== false) made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}

export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

export function setAttribute(node, name, value) {
  if (value === null || value === undefined) node.removeAttribute(name);
  else if (node.getAttribute(name) !== String(value)) node.setAttribute(name, value);
}

// Keep one child per key, made once and changed in place: what has the focus keeps it.
export function keyed(parent, items, keyOf, make, change) {
  const known = parent.keyedChildren ?? (parent.keyedChildren = new Map());
  const wanted = new Set();
  for (const item of items) {
    const key = keyOf(item);
    wanted.add(key);
    let child = known.get(key);
    if (!child) {
      child = make(item);
      known.set(key, child);
      parent.append(child);
    }
    change(child, item);
  }
  for (const [key, child] of known) {
    if (!wanted.has(key)) {
      child.remove();
      known.delete(key);
    }
  }
}

export function seconds(value) {
  return `${value.toFixed(value < 100 ? 3 : 1)} s`;
}

export function shortKey(key) {
  return key.split("#")[0];
}

export function viewLabel(view) {
  return view ? view.replace(/#[^|]*/, "") : "no view";
}
