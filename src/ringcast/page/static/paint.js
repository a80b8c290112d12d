// What the page and the report paint alike: views as blocks, and faults across everything that is drawn over time.
// `x` turns a time into a place on the canvas; `unit` is the size of a pixel there.

import { colorOf, inkOn } from "./look.js";

// Blocks { from, to, view, label, merged, top, height }: coloured by view, named where there is room.
export function paintBlocks(paint, blocks, x, unit, ink) {
  for (const block of blocks) {
    const left = x(block.from);
    const wide = Math.max(1.5 * unit, x(block.to) - left);
    paint.fillStyle = colorOf(block.view);
    paint.fillRect(left, block.top, wide, block.height);
    if (block.merged) {
      paint.fillStyle = ink;
      paint.fillRect(left, block.top - unit, 3 * unit, block.height + 2 * unit);
    }
    if (wide > paint.measureText(block.label).width + 10 * unit) {
      paint.fillStyle = inkOn(colorOf(block.view));
      paint.fillText(block.label, left + 6 * unit, block.top + block.height * 0.75);
    }
  }
}

// A band for as long as a fault lasts, and a dashed line where it begins; with `words` also its name, at `words` above.
export function paintFaults(paint, faults, x, unit, { top, bottom, words, bad, soft }) {
  let lastLabel = -1e9;
  for (const fault of faults) {
    const isHeal = fault.what === "heal";
    const left = x(fault.from);
    const right = x(fault.to);
    const color = isHeal ? soft : bad;
    if (right > left + unit) {
      paint.globalAlpha = 0.1;
      paint.fillStyle = bad;
      paint.fillRect(left, top, right - left, bottom - top);
      paint.globalAlpha = 1;
    }
    paint.strokeStyle = color;
    paint.lineWidth = unit;
    paint.setLineDash([4 * unit, 3 * unit]);
    paint.beginPath();
    paint.moveTo(left + 0.5 * unit, top);
    paint.lineTo(left + 0.5 * unit, bottom);
    paint.stroke();
    paint.setLineDash([]);
    if (words !== undefined && left > lastLabel) {
      paint.fillStyle = color;
      paint.fillText(fault.words, left + 2 * unit, words);
      lastLabel = left + paint.measureText(fault.words).width + 8 * unit;
    }
  }
}

export function faultWords(fault) {
  const more = fault.whom.length > 2 ? ` and ${fault.whom.length - 1} more` : "";
  return `${fault.what} ${more ? fault.whom[0] : fault.whom.join(", ")}${more}`;
}

// Lines over time in colours that the colour-blind can tell apart; behind the eighth they are dashed.
const LINES = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#9a8700", "#7a7f87"];

export function lineSeries(label, number, more = {}) {
  return {
    label, stroke: LINES[number % LINES.length], width: 1.5, dash: number >= LINES.length ? [4, 3] : [], points: { show: false }, ...more,
  };
}

export function axisLook(style) {
  return {
    stroke: style.getPropertyValue("--soft"), grid: { stroke: style.getPropertyValue("--line"), width: 1 },
    ticks: { stroke: style.getPropertyValue("--line"), width: 1 }, font: "12px system-ui, sans-serif",
  };
}
