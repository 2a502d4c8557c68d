// The program's text: a plain text area over a layer that shows where the parser found errors.
import { el } from "tidemark/panels.js";

// The parser counts bytes from 1; a line here has UTF-16 units from 0.
function unitOf(line, column) {
  let bytes = 1;
  let unit = 0;
  for (const letter of line) {
    if (bytes >= column) break;
    const code = letter.codePointAt(0);
    bytes += code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    unit += letter.length;
  }
  return unit;
}

export class Editor {
  constructor(root, changed) {
    this.area = root.querySelector("textarea");
    this.layer = root.querySelector(".layer");
    this.numbers = root.querySelector(".numbers");
    this.list = root.querySelector(".errors");
    this.errors = [];
    this.line = 0;
    this.area.addEventListener("input", () => {
      this.paint();
      changed(this.area.value);
    });
    this.area.addEventListener("scroll", () => this.follow());
  }

  get value() {
    return this.area.value;
  }

  set value(text) {
    if (text !== this.area.value) this.area.value = text;
    this.paint();
  }

  // [{line, column, text}], as the parser said them.
  show(errors, more = 0) {
    this.errors = errors;
    this.list.replaceChildren(
      ...errors.slice(0, 20).map((e) =>
        el("li", {}, el("button", { type: "button", onclick: () => this.go(e.line, e.column) },
          e.line ? el("b", {}, `${e.line}:${e.column}`) : null, " ", e.text))),
      more + Math.max(0, errors.length - 20) > 0 ? el("li", {}, `and ${more + Math.max(0, errors.length - 20)} more`) : "",
    );
    this.list.hidden = !errors.length;
    this.area.setAttribute("aria-invalid", errors.length ? "true" : "false");
    this.paint();
  }

  // The line of the operation that is looked at.
  point(line) {
    if (line === this.line) return;
    this.line = line;
    this.paint();
  }

  paint() {
    const lines = this.area.value.split("\n");
    const wrong = new Map();
    for (const e of this.errors) if (!wrong.has(e.line)) wrong.set(e.line, e);
    const most = Math.min(lines.length, 5000);
    const rows = [];
    const numbers = [];
    for (let i = 1; i <= most; i++) {
      const error = wrong.get(i);
      numbers.push(el("div", { class: error ? "wrong" : i === this.line ? "here" : "" }, String(i)));
      if (error) {
        const before = lines[i - 1].slice(0, unitOf(lines[i - 1], error.column));
        const rest = lines[i - 1].slice(before.length);
        const word = rest.match(/^([\p{L}\p{N}_]+|\S)/u)?.[0] ?? " ";
        rows.push(el("div", { class: "wrong" }, before, el("mark", {}, word), rest.slice(word.length)));
      } else rows.push(el("div", { class: i === this.line ? "here" : "" }, lines[i - 1] || " "));
    }
    this.layer.replaceChildren(...rows);
    this.numbers.replaceChildren(...numbers);
    this.follow();
  }

  follow() {
    this.layer.style.transform = `translate(${-this.area.scrollLeft}px, ${-this.area.scrollTop}px)`;
    this.numbers.style.transform = `translateY(${-this.area.scrollTop}px)`;
  }

  go(line, column) {
    const lines = this.area.value.split("\n");
    let at = 0;
    for (let i = 0; i < line - 1 && i < lines.length; i++) at += lines[i].length + 1;
    at += unitOf(lines[line - 1] ?? "", column);
    this.area.focus();
    this.area.setSelectionRange(at, at);
    const height = parseFloat(getComputedStyle(this.area).lineHeight) || 18;
    this.area.scrollTop = Math.max(0, (line - 4) * height);
  }
}
