// The pictures as files.
import { titleOf } from "tidemark/captions.js";
import { SvgPen, theme } from "tidemark/draw.js";
import { el } from "tidemark/panels.js";
import { page, state } from "tidemark/state.js";
import { look } from "tidemark/step.js";

// The graph above the lanes, as they are seen.
export function picture() {
  const t = theme();
  const parts = [page.graph, page.lanes, ...(state.trace ? [page.real] : [])];
  const width = Math.max(...parts.map((p) => p.canvas.clientWidth));
  const height = parts.reduce((sum, p) => sum + p.canvas.clientHeight, 0);
  const pen = new SvgPen(width, height, t.paper);
  const at = state.model.at(state.step);
  const how = look(at, state.model.time(state.step));
  let y = 0;
  for (const part of parts) {
    pen.parts.push(`<g transform="translate(0 ${y})">`);
    pen.clip(0, 0, part.canvas.clientWidth, part.canvas.clientHeight, () =>
      part.paint(pen, part.canvas.clientWidth, part.canvas.clientHeight, part === page.real ? { ...how, time: -1 } : how));
    pen.parts.push("</g>");
    y += part.canvas.clientHeight;
  }
  return pen.toString();
}

export function saveFile(name, blob) {
  const link = el("a", { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

export function savePng() {
  const image = new Image();
  const url = URL.createObjectURL(new Blob([picture()], { type: "image/svg+xml" }));
  image.onload = () => {
    const canvas = el("canvas", { width: image.width * 2, height: image.height * 2 });
    const context = canvas.getContext("2d");
    context.scale(2, 2);
    context.drawImage(image, 0, 0);
    URL.revokeObjectURL(url);
    canvas.toBlob((blob) => saveFile(fileName("png"), blob));
  };
  image.src = url;
}
export const fileName = (ending) => `${titleOf(page.captions[state.program]).replace(/\W+/g, "_")}-${state.step}.${ending}`;
