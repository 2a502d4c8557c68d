// What the page shows now, and what it is made of.
export const $ = (id) => document.getElementById(id);

export const state = {
  program: null, text: "", given: null, edited: false, set: {}, options: {},
  step: 0, selected: -1, hovered: -1, tab: "timelines", playing: false, model: null, trace: null,
};
// What is made once, when the page begins: the core, the pictures, the tables, the editor, and the data of the page.
export const page = {
  core: null, graph: null, lanes: null, real: null, panels: null, editor: null, examples: null, captions: null,
};

// "steps 2": the second operation of a queue.
export function findOperation(text) {
  const match = /^(.*)[ @](\d+)$/.exec(text);
  const queue = match ? state.model.tables.queues.findIndex((q) => q.label === match[1]) : -1;
  const op = queue < 0 ? null : state.model.byQueue[queue][Number(match[2]) - 1];
  return op ? op.number : -1;
}

export function nameOperation(number) {
  const op = state.model.operations[number];
  return op ? `${state.model.tables.queues[op.queue].label}@${op.sequence}` : "";
}
