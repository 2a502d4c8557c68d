// A message that goes away by itself.
import { $ } from "tidemark/state.js";

let toastTimer = 0;
export function toast(text) {
  $("toast").textContent = text;
  $("toast").hidden = false;
  clearTimeout(toastTimer);
  toastTimer = setTimeout(() => ($("toast").hidden = true), 4000);
}
