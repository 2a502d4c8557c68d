// The core, compiled from the same C as the library: web/core/view.h says what each call does.

const utf8 = new TextEncoder();
const text = new TextDecoder();

// In the order of enum tide_view_option.
export const OPTIONS = [
  "workers", "devices", "frontier", "mode", "paused", "step", "wait", "latency", "memory", "fail",
  "seed", "capacity",
];

const ARRAYS = { operations: 0, log: 1, waits: 2, values: 3, uses: 4, frontiers: 5, names: 6 };
const SIZES = { operations: 104, log: 32, waits: 32, values: 16, uses: 8, frontiers: 8, names: 1 };

export class Core {
  // `bytes` is the module. A trap (which is a bug) ends an instance; the next call makes a new one.
  static async create(bytes) {
    const core = new Core();
    core.module = await WebAssembly.compile(bytes);
    core.instance = await WebAssembly.instantiate(core.module, {});
    return core;
  }

  get calls() {
    return this.instance.exports;
  }

  get buffer() {
    return this.calls.memory.buffer;
  }

  write(string) {
    const bytes = utf8.encode(string);
    const room = this.calls.tide_view_room(bytes.length || 1);
    if (!room) throw new Error("out of memory");
    new Uint8Array(this.buffer, room, bytes.length).set(bytes);
    return bytes.length;
  }

  answer() {
    const at = this.calls.tide_view_answer();
    return text.decode(new Uint8Array(this.buffer, at, this.calls.tide_view_answer_size()));
  }

  json() {
    const answer = this.answer();
    return answer ? JSON.parse(answer) : null;
  }

  // Loads and runs a program: {errors}, or {tables, result} with the arrays to be read.
  // One that is refused leaves the one before as it was: that is still shown, and asked about.
  run(program, settings, options) {
    const before = this.instance;
    this.instance = this.spare ?? new WebAssembly.Instance(this.module, {});
    this.spare = null;
    try {
      const outcome = this.attempt(program, settings, options);
      this.spare = outcome.errors ? this.instance : before;
      if (outcome.errors) this.instance = before;
      return outcome;
    } catch (problem) {
      this.instance = before;
      const said = problem instanceof WebAssembly.RuntimeError || problem instanceof RangeError;
      if (!said && problem.message !== "out of memory") throw problem;
      return { errors: [{ line: 0, column: 0, text: "this program is too much for the page: " + problem.message }] };
    }
  }

  attempt(program, settings, options) {
    // What a large program took stays taken: a new instance starts small.
    if (this.buffer.byteLength > 256 << 20) this.instance = new WebAssembly.Instance(this.module, {});
    this.calls.tide_view_begin();
    for (const [name, value] of Object.entries(options)) {
      const number = OPTIONS.indexOf(name);
      if (number >= 0) this.calls.tide_view_option(number, Number(value) || 0);
    }
    for (const [name, value] of Object.entries(settings))
      this.calls.tide_view_setting(this.write(name + "=" + value));
    if (this.calls.tide_view_load(this.write(program))) return { errors: this.json().errors };
    const tables = this.json();
    const before = performance.now();
    this.calls.tide_view_run();
    const took = performance.now() - before;
    return { tables, result: this.json(), took };
  }

  // A view of an array of the recording; good until the next run.
  view(name) {
    const at = this.calls.tide_view_array(ARRAYS[name]);
    const count = this.calls.tide_view_array_count(ARRAYS[name]);
    return { at, count, size: SIZES[name], buffer: this.buffer };
  }

  operation(number) {
    return this.calls.tide_view_operation(number) === 0 ? this.json() : null;
  }

  // Who may have what a free gave back, before entry `at` of the log.
  reuse(free, at) {
    return this.calls.tide_view_reuse(free, at) === 0 ? this.json() : null;
  }

  explain(name) {
    this.calls.tide_view_explain(this.write(name));
    return this.answer();
  }
}
