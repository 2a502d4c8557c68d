// Two pens with the same strokes: one paints on a canvas, one writes SVG. What is drawn with a pen
// can be exported as it is seen.

export const FONT = "12px system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', sans-serif";
export const SMALL = "11px system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', sans-serif";

const ruler = document.createElement("canvas").getContext("2d");
const widths = new Map();

export function textWidth(text, font = FONT) {
  const key = font + text;
  if (!widths.has(key)) {
    if (widths.size > 20000) widths.clear();
    ruler.font = font;
    widths.set(key, ruler.measureText(text).width);
  }
  return widths.get(key);
}

export class CanvasPen {
  constructor(context) {
    this.c = context;
  }

  box(x, y, w, h, { fill, stroke, radius = 0, width = 1, dash }) {
    const c = this.c;
    if (!radius && !stroke) {
      c.fillStyle = fill;
      c.fillRect(x, y, w, h);
      return;
    }
    c.beginPath();
    if (radius) c.roundRect(x, y, w, h, Math.min(radius, w / 2, h / 2));
    else c.rect(x, y, w, h);
    if (fill) {
      c.fillStyle = fill;
      c.fill();
    }
    if (stroke) {
      c.strokeStyle = stroke;
      c.lineWidth = width;
      c.setLineDash(dash ?? []);
      c.stroke();
    }
  }

  // points: [x, y, x, y …]; a curve through them when `smooth`.
  path(points, { stroke, width = 1, dash, smooth, arrow }) {
    const c = this.c;
    c.beginPath();
    c.moveTo(points[0], points[1]);
    if (smooth && points.length === 8) c.bezierCurveTo(...points.slice(2));
    else for (let i = 2; i < points.length; i += 2) c.lineTo(points[i], points[i + 1]);
    c.strokeStyle = stroke;
    c.lineWidth = width;
    c.setLineDash(dash ?? []);
    c.stroke();
    if (arrow) this.head(points, stroke);
  }

  head(points, fill) {
    const [x0, y0, x, y] = points.slice(-4);
    const angle = Math.atan2(y - y0, x - x0);
    const c = this.c;
    c.beginPath();
    for (const turn of [0, 2.6, -2.6]) {
      const length = turn ? 7 : 0;
      const px = x + length * Math.cos(angle + turn);
      const py = y + length * Math.sin(angle + turn);
      if (turn) c.lineTo(px, py);
      else c.moveTo(px, py);
    }
    c.fillStyle = fill;
    c.fill();
  }

  text(x, y, text, { fill, font = FONT, align = "left" }) {
    const c = this.c;
    c.font = font;
    c.fillStyle = fill;
    c.textAlign = align;
    c.textBaseline = "middle";
    c.fillText(text, x, y);
  }

  clip(x, y, w, h, draw) {
    this.c.save();
    this.c.beginPath();
    this.c.rect(x, y, w, h);
    this.c.clip();
    draw();
    this.c.restore();
  }
}

const escape = (text) =>
  String(text).replace(/[&<>"]/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[c]);
const round = (number) => Math.round(number * 100) / 100;

export class SvgPen {
  constructor(width, height, background) {
    this.parts = [];
    this.clips = 0;
    this.width = width;
    this.height = height;
    if (background) this.box(0, 0, width, height, { fill: background });
  }

  style({ fill, stroke, width = 1, dash }) {
    return (
      ` fill="${fill ?? "none"}"` +
      (stroke ? ` stroke="${stroke}" stroke-width="${width}"` : "") +
      (dash?.length ? ` stroke-dasharray="${dash.join(" ")}"` : "")
    );
  }

  box(x, y, w, h, how) {
    const r = how.radius ? ` rx="${round(Math.min(how.radius, w / 2, h / 2))}"` : "";
    this.parts.push(`<rect x="${round(x)}" y="${round(y)}" width="${round(w)}" height="${round(h)}"${r}${this.style(how)}/>`);
  }

  path(points, how) {
    const p = points.map(round);
    let d = `M${p[0]} ${p[1]}`;
    if (how.smooth && p.length === 8) d += `C${p[2]} ${p[3]} ${p[4]} ${p[5]} ${p[6]} ${p[7]}`;
    else for (let i = 2; i < p.length; i += 2) d += `L${p[i]} ${p[i + 1]}`;
    this.parts.push(`<path d="${d}"${this.style({ ...how, fill: "none" })}/>`);
    if (how.arrow) this.head(points, how.stroke);
  }

  head(points, fill) {
    const [x0, y0, x, y] = points.slice(-4);
    const angle = Math.atan2(y - y0, x - x0);
    const corner = (turn) => `${round(x + 7 * Math.cos(angle + turn))} ${round(y + 7 * Math.sin(angle + turn))}`;
    this.parts.push(`<path d="M${round(x)} ${round(y)}L${corner(2.6)}L${corner(-2.6)}Z" fill="${fill}"/>`);
  }

  text(x, y, text, { fill, font = FONT, align = "left" }) {
    const size = font.split("px")[0].split(" ").at(-1);
    const bold = /^(600|bold)/.test(font) ? ' font-weight="600"' : "";
    const anchor = { left: "start", center: "middle", right: "end" }[align];
    this.parts.push(
      `<text x="${round(x)}" y="${round(y + size * 0.35)}" font-size="${size}"${bold} text-anchor="${anchor}" fill="${fill}">${escape(text)}</text>`,
    );
  }

  clip(x, y, w, h, draw) {
    const id = "clip" + this.clips++;
    this.parts.push(
      `<clipPath id="${id}"><rect x="${round(x)}" y="${round(y)}" width="${round(w)}" height="${round(h)}"/></clipPath><g clip-path="url(#${id})">`,
    );
    draw();
    this.parts.push("</g>");
  }

  toString() {
    return (
      `<svg xmlns="http://www.w3.org/2000/svg" width="${this.width}" height="${this.height}" viewBox="0 0 ${this.width} ${this.height}" ` +
      `font-family="system-ui, -apple-system, Segoe UI, Roboto, Noto Sans, sans-serif">${this.parts.join("\n")}</svg>\n`
    );
  }
}

// ---- colours ---------------------------------------------------------------------------------

// Queues: eight hues that differ for most eyes; further queues take them again, and a name tells.
const HUES = {
  light: ["#1f6fb4", "#b4560e", "#23805b", "#9c3d85", "#7a6a00", "#0f7c8c", "#b03a3a", "#5b58b8"],
  dark: ["#6db3f2", "#f0a15e", "#66c79b", "#dd92c9", "#d3c04f", "#5cc7d6", "#f08a86", "#a9a6f5"],
};
const CLASS = {
  light: { failed: "#b00020", resolved: "#1f6fb4", elided: "#23805b", issued: "#b4560e", held: "#7b3fa0" },
  dark: { failed: "#ff8a80", resolved: "#7fc0ff", elided: "#74d6a8", issued: "#ffb27a", held: "#d3a6f0" },
};
export const DASHES = { failed: [2, 3], resolved: [1, 4], elided: [6, 4], issued: [], held: [2, 3] };

export function theme() {
  const style = getComputedStyle(document.documentElement);
  const name = style.getPropertyValue("--theme").trim() === "dark" ? "dark" : "light";
  const value = (key) => style.getPropertyValue(key).trim();
  return {
    name,
    queue: (index) => HUES[name][index % HUES[name].length],
    class: CLASS[name],
    ink: value("--ink"), soft: value("--soft"), line: value("--line"), paper: value("--paper"),
    panel: value("--panel"), accent: value("--accent"), on: name === "dark" ? "#10151c" : "#ffffff",
  };
}

// A canvas that is as sharp as the screen; returns its pen, or null when it has no size yet.
export function prepare(canvas) {
  const { clientWidth: width, clientHeight: height } = canvas;
  if (!width || !height) return null;
  const ratio = Math.min(window.devicePixelRatio || 1, 3);
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
  }
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  return { pen: new CanvasPen(context), width, height };
}
