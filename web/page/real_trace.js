// The lanes of a recorded trace, below the simulated ones.
import { sizeLanes } from "tidemark/run.js";
import { $, page, state } from "tidemark/state.js";
import { draw } from "tidemark/step.js";
import { toast } from "tidemark/toast.js";
import { placeTrace, readTrace } from "tidemark/trace.js";

export function setTrace(trace) {
  state.trace = trace;
  page.panels.real = trace?.of ?? null;
  $("real").hidden = !trace;
  if (!trace) return;
  page.real.show(state.model, trace.bars, trace.names, trace.end);
  page.real.index(trace.bars);
  sizeLanes();
}

// It stays beside what is simulated with other settings, not beside another program.
export function keepTrace(json) {
  const trace = placeTrace(json, state.model);
  if (trace.matched) setTrace(trace);
  else toast("the trace is of another program: it is not shown any more");
}

export function showTrace(text) {
  try {
    if (!state.model) throw new Error("a trace is shown below a program, and there is none yet");
    const trace = readTrace(text, state.model);
    setTrace(trace);
    toast(`${trace.operations} ${trace.operations === 1 ? "operation" : "operations"}, of which ${trace.matched} ${trace.matched === 1 ? "is" : "are"} in this program`);
  } catch (problem) {
    toast(problem.message);
  }
  draw();
}
