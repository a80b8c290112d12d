"""What is asked of every page that a browser shows: do words stand out from their ground?"""

CONTRAST = """
() => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const parts = (color) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = color;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3).map((n) => {
      const c = n / 255;
      return c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
    });
  };
  const light = (color) => { const [r, g, b] = parts(color); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const ground = (node) => {
    for (let at = node; at; at = at.parentElement) {
      const color = getComputedStyle(at).backgroundColor;
      if (color !== "rgba(0, 0, 0, 0)" && color !== "transparent") return color;
    }
    return "rgb(255, 255, 255)";
  };
  const WORDS = "h1, h2, h3, p, li, td, th, dt, dd, a, small, strong, code, span, b, "
    + "label, button, select, input, output, summary";
  const poor = [];
  for (const node of document.querySelectorAll(WORDS)) {
    if (!node.innerText?.trim() || node.closest("[hidden]")) continue;
    const [a, b] = [light(getComputedStyle(node).color), light(ground(node))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) poor.push(`${node.tagName} ${node.className} ${ratio.toFixed(2)}: ${node.innerText.slice(0, 30)}`);
  }
  return [...new Set(poor)];
}
"""
