// The address holds all that makes up a picture: who opens it sees the same.

export function readLink(hash) {
  const fields = new URLSearchParams(hash.replace(/^#/, ""));
  const link = { set: {}, options: {}, step: null, operation: null, program: null, text: null, view: null };
  for (const [key, value] of fields) {
    if (key === "p") link.program = value;
    else if (key === "text") link.text = decode(value);
    else if (key === "step" && /^\d+$/.test(value)) link.step = Number(value);
    else if (key === "op") link.operation = value;
    else if (key === "tab") link.view = value;
    else if (key.startsWith("set.")) link.set[key.slice(4)] = value;
    else if (key.startsWith("sim.") && /^\d+$/.test(value)) link.options[key.slice(4)] = Number(value);
  }
  return link;
}

export function writeLink({ program, text, set, options, step, operation, view }) {
  const fields = new URLSearchParams();
  if (text !== null) fields.set("text", encode(text));
  else fields.set("p", program);
  for (const [name, value] of Object.entries(set)) fields.set("set." + name, value);
  for (const [name, value] of Object.entries(options)) if (value) fields.set("sim." + name, value);
  fields.set("step", step);
  if (operation) fields.set("op", operation);
  if (view) fields.set("tab", view);
  return "#" + fields.toString();
}

// Text in letters that an address may hold.
function encode(text) {
  let bytes = "";
  for (const byte of new TextEncoder().encode(text)) bytes += String.fromCharCode(byte);
  return btoa(bytes).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

function decode(text) {
  try {
    const bytes = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
    return new TextDecoder().decode(Uint8Array.from(bytes, (c) => c.charCodeAt(0)));
  } catch {
    return null;
  }
}
