// Lanes: a row a queue, time to the right. Only what is in sight is drawn.
import { STATE } from "tidemark/model.js";
import { DASHES, FONT, SMALL, prepare, textWidth, theme } from "tidemark/draw.js";
import { CLASSES, NONE } from "tidemark/model.js";

const ROW = 30;
const BAR = 22;
const TOP = 26;

export function timeText(ns) {
  if (ns === 0) return "0";
  for (const [unit, size] of [["s", 1e9], ["ms", 1e6], ["µs", 1e3]])
    if (ns >= size) return trim(ns / size) + " " + unit;
  return trim(ns) + " ns";
}
const trim = (number) => String(Number(number.toPrecision(4)));

const isAway = (mark) => mark.state === STATE.AWAY || mark.state === STATE.HELD || mark.state === STATE.WAITING;

// A round distance between marks, so that there are about `count` of them.
function distance(span, count) {
  const rough = span / Math.max(1, count);
  const power = 10 ** Math.floor(Math.log10(rough));
  for (const step of [1, 2, 5, 10]) if (rough <= step * power) return step * power;
  return 10 * power;
}

export class Lanes {
  constructor(canvas, { pick, hover, label }) {
    this.canvas = canvas;
    this.label = label;
    this.from = 0;
    this.span = 1;
    this.scroll = 0;
    this.listen(pick, hover);
  }

  // bars: {queue, start, end, name, number, op}; `names` of the rows.
  show(model, bars, names, end) {
    this.model = model;
    this.names = names;
    this.end = Math.max(end, 1);
    const widest = names.slice(0, 400).reduce((most, n) => Math.max(most, textWidth(n, FONT)), textWidth(this.label, SMALL));
    this.gutter = Math.min(180, 38 + widest);
    this.place(bars);
    this.fit();
  }

  // Operations of one queue that overlap go below each other.
  place(bars) {
    this.rows = this.names.map(() => []);
    for (const bar of bars) this.rows[bar.queue]?.push(bar);
    let y = 0;
    this.tops = [];
    for (const row of this.rows) {
      row.sort((a, b) => a.start - b.start || a.number - b.number);
      const ends = [];
      for (const bar of row) {
        let depth = ends.findIndex((end) => end <= bar.start);
        if (depth < 0) depth = ends.length < 6 ? ends.length : 0;
        ends[depth] = Math.max(bar.end, ends[depth] ?? 0);
        bar.depth = depth;
      }
      this.tops.push(y);
      y += ROW + Math.max(0, ends.length - 1) * (BAR + 2);
    }
    this.height = y;
  }

  get wanted() {
    return TOP + this.height + 8;
  }

  fit() {
    this.from = 0;
    this.span = this.end * 1.02;
    this.scroll = 0;
  }

  x(time, width) {
    return this.gutter + ((time - this.from) / this.span) * (width - this.gutter - 12);
  }

  draw(state) {
    this.state = state;
    const ready = prepare(this.canvas);
    if (ready && this.model) this.paint(ready.pen, ready.width, ready.height, state);
  }

  paint(pen, width, height, state) {
    const t = theme();
    this.width = width;
    this.shown = [];
    this.cut = this.names.filter((n) => fitText(n, this.gutter - 30) !== n);
    this.scroll = Math.max(0, Math.min(this.scroll, this.wanted - height));
    this.paintTime(pen, width, height, t);
    pen.clip(0, TOP, width, height - TOP, () => {
      for (let q = 0; q < this.rows.length; q++) {
        const y = TOP + this.tops[q] - this.scroll;
        const rowHeight = (this.tops[q + 1] ?? this.height) - this.tops[q];
        if (y + rowHeight < TOP || y > height) continue;
        pen.path([0, y + rowHeight - 0.5, width, y + rowHeight - 0.5], { stroke: t.line });
        pen.clip(this.gutter, TOP, width - this.gutter, height - TOP, () => this.paintRow(pen, q, y + 4, width, t, state));
        pen.box(0, y, this.gutter - 2, rowHeight - 1, { fill: t.panel });
        pen.box(10, y + 11, 8, 8, { fill: t.queue(q), radius: 2 });
        pen.text(24, y + 15, fitText(this.names[q], this.gutter - 30), { fill: t.ink });
      }
      if (state.arrows) this.paintWaits(pen, width, height, t, state);
    });
    const now = this.x(state.time, width);
    if (state.time >= 0 && now >= this.gutter)
      pen.path([now, TOP - 6, now, height], { stroke: t.accent, width: 1.5 });
  }

  paintTime(pen, width, height, t) {
    const step = distance(this.span, (width - this.gutter) / 110);
    pen.text(10, TOP / 2, this.label, { fill: t.soft, font: SMALL });
    for (let time = Math.ceil(this.from / step) * step; time <= this.from + this.span; time += step) {
      const x = this.x(time, width);
      if (x < this.gutter - 1) continue;
      pen.path([x, TOP - 4, x, height], { stroke: t.line });
      const text = timeText(time);
      if (x + textWidth(text, SMALL) / 2 < width - 2)
        pen.text(x, TOP / 2, text, { fill: t.soft, font: SMALL, align: "center" });
    }
  }

  // Bars that are narrower than a point are drawn as one, and neighbours that look the same as one stroke:
  // a row of ten thousand is a handful of them.
  paintRow(pen, q, y, width, t, state) {
    const row = this.rows[q];
    const color = t.queue(q);
    let low = 0;
    let high = row.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (row[middle].start < this.from) low = middle + 1;
      else high = middle;
    }
    let drawnTo = -1;
    let run = null;
    const end = () => {
      if (run) pen.box(run.x, run.y, run.to - run.x, BAR, { fill: run.fill });
      run = null;
    };
    for (let i = Math.max(0, low - 8); i < row.length; i++) {
      const bar = row[i];
      if (bar.start > this.from + this.span) break;
      const x = this.x(bar.start, width);
      const w = Math.max(1.5, this.x(bar.end, width) - x - 1);
      if (bar.op && w < 2 && x < drawnTo + 1 && bar.number !== state.selected) continue;
      drawnTo = x;
      const at = y + bar.depth * (BAR + 2);
      this.shown.push({ bar, x, y: at, w });
      const mark = state.mark(bar);
      if (w < 5 && !mark.ring) {
        const base = mark.state === STATE.FAILED ? t.class.failed : color;
        const fill = isAway(mark) ? color + "40" : base + (mark.dim ? "60" : "");
        if (!run || run.fill !== fill || run.y !== at || x > run.to + 0.5) {
          end();
          run = { x, y: at, to: x, fill };
        }
        run.to = Math.max(run.to, x + w);
        continue;
      }
      end();
      this.paintBar(pen, bar, mark, x, at, w, color, t);
    }
    end();
  }

  paintBar(pen, bar, mark, x, y, w, color, t) {
    const away = isAway(mark);
    const running = mark.state === STATE.RUNNING;
    const failed = mark.state === STATE.FAILED;
    const base = failed ? t.class.failed : color;
    const fade = mark.dim ? "38" : "";
    pen.box(x, y, w, BAR, {
      fill: away ? color + (mark.dim ? "10" : "1c") : base + (running ? "ff" : mark.dim ? "40" : "b8"),
      stroke: away ? color + (fade || "80") : base + fade,
      dash: away && w > 6 ? [3, 3] : [],
      radius: 4,
    });
    if (mark.ring && w > 3) pen.box(x - 1.5, y - 1.5, w + 3, BAR + 3, { stroke: mark.ring, width: 2, radius: 5, dash: mark.dash ?? [] });
    const label = [bar.name, bar.short].find((text) => text && textWidth(text, SMALL) < w - 10);
    if (label && !mark.dim)
      pen.text(x + w / 2, y + BAR / 2, label, { fill: away ? t.ink : t.on, font: SMALL, align: "center" });
    else if (label) pen.text(x + w / 2, y + BAR / 2, label, { fill: t.soft, font: SMALL, align: "center" });
  }

  // From whoever signals to whoever waits, for the operation that is looked at.
  paintWaits(pen, width, height, t, state) {
    const middle = (bar) => TOP + this.tops[bar.queue] - this.scroll + 4 + bar.depth * (BAR + 2) + BAR / 2;
    const bars = this.barOf ?? new Map();
    for (const { op, strong } of state.arrows()) {
      const to = bars.get(op.number);
      if (!to) continue;
      for (const wait of this.model.waitsOf(op)) {
        const from = wait.cause === NONE ? null : bars.get(wait.cause);
        if (!from) continue;
        const x0 = this.x(from.end, width);
        const x1 = this.x(to.start, width);
        if (Math.max(x0, x1) < this.gutter || Math.min(x0, x1) > width) continue;
        const y0 = middle(from);
        const y1 = middle(to);
        const bend = Math.max(14, Math.abs(x1 - x0) / 2);
        const name = CLASSES[wait.class];
        pen.path([x0, y0, x0 + bend, y0, x1 - bend, y1, x1 - 1, y1], {
          stroke: t.class[name] + (strong ? "" : "70"), width: strong ? 2 : 1.2, dash: DASHES[name], smooth: true, arrow: strong,
        });
      }
    }
  }

  index(bars) {
    this.barOf = new Map();
    for (const bar of bars) if (bar.op) this.barOf.set(bar.number, bar);
  }

  // ---- mouse ----------------------------------------------------------------------------------

  hit(x, y) {
    for (let i = this.shown?.length - 1; i >= 0; i--) {
      const s = this.shown[i];
      if (x >= s.x - 1 && x <= s.x + Math.max(s.w, 4) && y >= s.y && y <= s.y + BAR) return s.bar;
    }
    return null;
  }

  listen(pick, hover) {
    const canvas = this.canvas;
    let drag = null;
    const redraw = () => this.state && this.draw(this.state);
    canvas.addEventListener("pointerdown", (e) => {
      drag = { x: e.offsetX, y: e.offsetY, from: this.from, scroll: this.scroll, moved: false };
      canvas.setPointerCapture(e.pointerId);
    });
    canvas.addEventListener("pointermove", (e) => {
      if (!drag) {
        hover(this.hit(e.offsetX, e.offsetY), e);
        return;
      }
      if (Math.abs(e.offsetX - drag.x) + Math.abs(e.offsetY - drag.y) > 3) drag.moved = true;
      if (!drag.moved) return;
      this.from = drag.from - ((e.offsetX - drag.x) / (this.width - this.gutter)) * this.span;
      this.clampTime();
      this.scroll = drag.scroll - (e.offsetY - drag.y);
      redraw();
    });
    canvas.addEventListener("pointerup", (e) => {
      if (drag && !drag.moved) pick(this.hit(e.offsetX, e.offsetY));
      drag = null;
    });
    canvas.addEventListener("pointerleave", (e) => hover(null, e));
    canvas.addEventListener("wheel", (e) => {
      if (!e.ctrlKey && !e.metaKey && !e.shiftKey && Math.abs(e.deltaY) > Math.abs(e.deltaX) && this.wanted > canvas.clientHeight) {
        this.scroll += e.deltaY;
      } else {
        const part = Math.max(0, (e.offsetX - this.gutter) / (this.width - this.gutter));
        if (Math.abs(e.deltaX) > Math.abs(e.deltaY)) this.from += (e.deltaX / this.width) * this.span;
        else this.zoom(e.deltaY > 0 ? 1.25 : 0.8, part);
        this.clampTime();
      }
      e.preventDefault();
      redraw();
    }, { passive: false });
  }

  zoom(factor, part = 0.5) {
    const span = Math.max(this.end / 1e6, Math.min(this.span * factor, this.end * 1.02));
    this.from += (this.span - span) * part;
    this.span = span;
    this.clampTime();
  }

  clampTime() {
    this.from = Math.max(0, Math.min(this.from, this.end * 1.02 - this.span));
  }

  // Brings a moment into sight.
  follow(time) {
    if (time < this.from || time > this.from + this.span) {
      this.from = time - this.span / 2;
      this.clampTime();
    }
  }
}

export function fitText(text, room, font = FONT) {
  if (textWidth(text, font) <= room) return text;
  let length = text.length;
  while (length > 1 && textWidth(text.slice(0, length) + "…", font) > room) length--;
  return text.slice(0, length) + "…";
}
