// The dependency graph: dagre lays out what it can in a moment; larger ones go into columns by how
// long a chain leads there, in a row for each queue. Only what is in sight is drawn.
import * as dagre from "tidemark/dagre.js";
import { DASHES, FONT, SMALL, prepare, textWidth, theme } from "tidemark/draw.js";
import { fitText } from "tidemark/lanes.js";
import { CLASSES, NONE, STATE } from "tidemark/model.js";

const MOST = 220; // operations that dagre gets
const NODE = 34;
const WIDEST = 260;
const LEAST = (count) => (count > MOST ? 0.5 : 0.62); // how small it begins: names can be read, in no less than 9 points
const BOLD = "600 " + FONT;

export class Graph {
  constructor(canvas, { pick, hover }) {
    this.canvas = canvas;
    this.view = { x: 0, y: 0, zoom: 1 };
    this.listen(pick, hover);
  }

  show(model) {
    this.model = model;
    const least = LEAST(model.operations.length);
    this.nodes = model.operations.map((op) => {
      const title = model.operationName(op.number);
      const widths = [textWidth(title, BOLD), textWidth(op.name, SMALL)];
      const width = Math.max(...widths.map((w) => w + 24), ...widths.map((w, i) => ((w * 9) / (i ? 11 : 12) + 8) / least));
      return { op, title, name: op.name, w: Math.min(Math.max(width, 64), WIDEST), h: NODE, x: 0, y: 0 };
    });
    this.edges = [];
    this.collect(model);
    if (this.nodes.length <= MOST) this.layout();
    else this.columns();
    this.measure();
    this.fitted = false;
    this.wanted = -1;
  }

  // The queue's own order, and each wait.
  collect(model) {
    for (const list of model.byQueue)
      for (let i = 1; i < list.length; i++) this.edges.push({ from: list[i - 1].number, to: list[i].number, own: true });
    for (const op of model.operations)
      for (let w = op.firstWait; w < op.firstWait + op.waitCount; w++) {
        const wait = model.waits[w];
        if (wait.cause !== NONE && wait.cause !== op.number)
          this.edges.push({ from: wait.cause, to: op.number, class: CLASSES[wait.class], wait });
      }
  }

  layout() {
    const g = new dagre.Graph({ multigraph: true });
    g.setGraph({ rankdir: "LR", nodesep: 14, ranksep: 46, marginx: 20, marginy: 20 });
    g.setDefaultEdgeLabel(() => ({}));
    for (const node of this.nodes) g.setNode(String(node.op.number), { width: node.w, height: node.h });
    this.edges.forEach((edge, i) => g.setEdge(String(edge.from), String(edge.to), { weight: edge.own ? 3 : 1 }, "e" + i));
    dagre.layout(g);
    for (const node of this.nodes) {
      const at = g.node(String(node.op.number));
      node.x = at.x - node.w / 2;
      node.y = at.y - node.h / 2;
    }
    this.edges.forEach((edge, i) => {
      const points = g.edge(String(edge.from), String(edge.to), "e" + i)?.points;
      if (points) edge.points = points.flatMap((p) => [p.x, p.y]);
    });
  }

  columns() {
    const depth = new Int32Array(this.nodes.length);
    const inward = this.nodes.map(() => []);
    for (const edge of this.edges) inward[edge.to].push(edge.from);
    // Causes are mostly submitted first; a few rounds settle those that are not.
    for (let round = 0; round < 4; round++)
      for (let i = 0; i < depth.length; i++)
        for (const from of inward[i]) if (depth[from] < 1e6) depth[i] = Math.max(depth[i], depth[from] + (from === i ? 0 : 1));
    const taken = new Map();
    const widest = Math.max(...this.nodes.slice(0, 500).map((n) => n.w));
    for (const node of this.nodes) {
      let column = depth[node.op.number];
      while (taken.has(column + ":" + node.op.queue)) column++;
      taken.set(column + ":" + node.op.queue, true);
      node.x = 20 + column * (widest + 40);
      node.y = 20 + node.op.queue * (NODE + 18);
    }
  }

  measure() {
    this.w = Math.max(1, ...range(this.nodes, (n) => n.x + n.w)) + 20;
    this.h = Math.max(1, ...range(this.nodes, (n) => n.y + n.h)) + 20;
    this.sorted = [...this.nodes].sort((a, b) => a.x - b.x);
    this.widest = Math.max(...range(this.nodes, (n) => n.w));
    this.out = this.nodes.map(() => []);
    for (const edge of this.edges) {
      this.out[edge.from].push(edge);
      this.out[edge.to].push(edge);
    }
  }

  // All of it, if that can be read; else the beginning, with the first operation in sight.
  fit(width, height) {
    const zoom = Math.min(width / this.w, height / this.h, 1.15);
    this.view.zoom = Math.max(zoom, LEAST(this.nodes.length));
    const left = (width - this.w * this.view.zoom) / 2;
    const top = (height - this.h * this.view.zoom) / 2;
    this.view.x = Math.max(0, left);
    this.view.y = Math.max(0, top);
    if (top < 0 && this.sorted.length)
      this.view.y = Math.min(0, Math.max(2 * top, height / 2 - (this.sorted[0].y + this.sorted[0].h / 2) * this.view.zoom));
    this.fitted = true;
    this.touched = false;
  }

  // The room has changed: what was fitted is fitted again, else the middle stays the middle.
  resize(width, height) {
    if (this.size && this.size.width === width && this.size.height === height && this.fitted) return;
    if (!this.fitted || !this.touched || !this.size) this.fit(width, height);
    else {
      this.view.x += (width - this.size.width) / 2;
      this.view.y += (height - this.size.height) / 2;
    }
    this.size = { width, height };
  }

  draw(state) {
    this.state = state;
    const ready = prepare(this.canvas);
    if (ready && this.model) this.paint(ready.pen, ready.width, ready.height, state);
  }

  paint(pen, width, height, state) {
    const t = theme();
    this.resize(width, height);
    this.bring();
    const { zoom } = this.view;
    const visible = this.visible(width, height);
    this.cut = [];
    const drawn = new Set();
    for (const node of visible)
      for (const edge of this.out[node.op.number]) {
        if (drawn.has(edge) || (zoom < 0.25 && edge.own)) continue;
        drawn.add(edge);
        if (drawn.size < 4000) this.paintEdge(pen, edge, t, state);
      }
    for (const node of visible) this.paintNode(pen, node, t, state);
  }

  visible(width, height) {
    const { x, y, zoom } = this.view;
    const left = -x / zoom - this.widest;
    const right = (width - x) / zoom;
    let low = 0;
    let high = this.sorted.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.sorted[middle].x < left) low = middle + 1;
      else high = middle;
    }
    const list = [];
    for (let i = low; i < this.sorted.length && this.sorted[i].x <= right; i++) {
      const node = this.sorted[i];
      const top = node.y * zoom + y;
      if (top + node.h * zoom >= 0 && top <= height) list.push(node);
    }
    return list;
  }

  sx(x) {
    return x * this.view.zoom + this.view.x;
  }
  sy(y) {
    return y * this.view.zoom + this.view.y;
  }

  paintEdge(pen, edge, t, state) {
    const from = this.nodes[edge.from];
    const to = this.nodes[edge.to];
    const near = edge.to === state.selected;
    const faint = state.selected >= 0 && !near;
    const stroke = edge.own ? t.soft + (faint ? "40" : "80") : t.class[edge.class] + (faint ? "55" : "");
    const how = { stroke, width: near && !edge.own ? 2.2 : 1.3, dash: edge.own ? [] : DASHES[edge.class], arrow: this.view.zoom > 0.3 };
    if (edge.points) pen.path(edge.points.map((v, i) => (i % 2 ? this.sy(v) : this.sx(v))), how);
    else {
      const x0 = this.sx(from.x + from.w);
      const x1 = this.sx(to.x);
      const bend = Math.max(12, Math.abs(x1 - x0) / 2.5);
      const y0 = this.sy(from.y + from.h / 2);
      const y1 = this.sy(to.y + to.h / 2);
      pen.path([x0, y0, x0 + bend, y0, x1 - bend, y1, x1, y1], { ...how, smooth: true });
    }
  }

  paintNode(pen, node, t, state) {
    const { zoom } = this.view;
    const x = this.sx(node.x);
    const y = this.sy(node.y);
    const w = node.w * zoom;
    const h = node.h * zoom;
    const mark = state.mark({ number: node.op.number, op: node.op });
    const color = mark.state === STATE.FAILED ? t.class.failed : t.queue(node.op.queue);
    const away = mark.state < STATE.RUNNING;
    const running = mark.state === STATE.RUNNING;
    pen.box(x, y, w, h, { fill: t.paper, radius: 7 * zoom });
    pen.box(x, y, w, h, {
      fill: away ? color + "10" : running ? color : color + (mark.dim ? "22" : "40"),
      stroke: color + (mark.dim ? "55" : ""), width: running ? 2 : 1.3, radius: 7 * zoom,
      dash: mark.state <= STATE.HELD ? [4, 4] : [],
    });
    if (mark.ring) pen.box(x - 3, y - 3, w + 6, h + 6, { stroke: mark.ring, width: 2, radius: 9 * zoom, dash: mark.dash ?? [] });
    if (zoom < 0.45) return;
    const ink = running ? t.on : mark.dim ? t.soft : t.ink;
    const size = Math.max(9, 12 * zoom);
    const title = `600 ${size}px` + FONT.slice(4);
    const small = `${Math.max(9, 11 * zoom)}px` + SMALL.slice(4);
    const middle = x + w / 2;
    const label = (text, font, at, fill) => {
      const shown = fitText(text, w - 4, font);
      if (shown !== text) this.cut.push(text);
      pen.text(middle, y + h * at, shown, { fill, font, align: "center" });
    };
    label(node.title, title, 0.29, ink);
    label(node.name, small, 0.73, running ? t.on : t.soft);
  }

  // ---- mouse ----------------------------------------------------------------------------------

  hit(x, y) {
    if (!this.size) return null;
    for (const node of this.visible(this.size.width, this.size.height))
      if (x >= this.sx(node.x) && x <= this.sx(node.x + node.w) && y >= this.sy(node.y) && y <= this.sy(node.y + node.h))
        return node;
    return null;
  }

  listen(pick, hover) {
    const canvas = this.canvas;
    let drag = null;
    const redraw = () => this.state && this.draw(this.state);
    canvas.addEventListener("pointerdown", (e) => {
      drag = { x: e.offsetX, y: e.offsetY, view: { ...this.view }, moved: false };
      canvas.setPointerCapture(e.pointerId);
    });
    canvas.addEventListener("pointermove", (e) => {
      if (!drag) {
        const node = this.hit(e.offsetX, e.offsetY);
        hover(node && { number: node.op.number, op: node.op }, e);
        return;
      }
      if (Math.abs(e.offsetX - drag.x) + Math.abs(e.offsetY - drag.y) > 3) drag.moved = true;
      if (!drag.moved) return;
      this.touched = true;
      this.view.x = drag.view.x + e.offsetX - drag.x;
      this.view.y = drag.view.y + e.offsetY - drag.y;
      redraw();
    });
    canvas.addEventListener("pointerup", (e) => {
      if (drag && !drag.moved) {
        const node = this.hit(e.offsetX, e.offsetY);
        pick(node && { number: node.op.number, op: node.op });
      }
      drag = null;
    });
    canvas.addEventListener("pointerleave", (e) => hover(null, e));
    canvas.addEventListener("wheel", (e) => {
      e.preventDefault();
      this.zoom(e.deltaY > 0 ? 0.87 : 1.15, e.offsetX, e.offsetY);
      redraw();
    }, { passive: false });
  }

  zoom(factor, x = this.size?.width / 2, y = this.size?.height / 2) {
    const zoom = Math.max(0.04, Math.min(3, this.view.zoom * factor));
    const by = zoom / this.view.zoom;
    this.touched = true;
    this.view.x = x - (x - this.view.x) * by;
    this.view.y = y - (y - this.view.y) * by;
    this.view.zoom = zoom;
  }

  // Brings an operation into sight when it is drawn next: only then it is known how much room there is.
  follow(number) {
    this.wanted = number;
  }

  bring() {
    const node = this.nodes?.[this.wanted];
    this.wanted = -1;
    if (!node) return;
    const { width, height } = this.size;
    const x = this.sx(node.x);
    const y = this.sy(node.y);
    const before = { ...this.view };
    if (x < 0 || x + node.w * this.view.zoom > width) this.view.x += width / 2 - x;
    if (y < 0 || y + node.h * this.view.zoom > height) this.view.y += height / 2 - y;
    if (this.view.x !== before.x || this.view.y !== before.y) this.touched = true;
  }
}

// Spreading a long list over the arguments of a call would be too much for the stack.
function range(list, value) {
  let most = -Infinity;
  for (const item of list) most = Math.max(most, value(item));
  return [most];
}
