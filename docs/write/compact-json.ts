/** JSON in few lines: what fits into a line is in one. Pure. */
const WIDTH = 118;

export function writeJson(value: unknown, indent = "", before = 0): string {
  const line = writeLine(value);
  if (typeof value !== "object" || value === null || indent.length + before + line.length <= WIDTH) return line;
  const inner = `${indent}  `;
  const parts = Array.isArray(value)
    ? value.map((item) => ({ head: "", item }))
    : Object.entries(value).map(([key, item]) => ({ head: `${JSON.stringify(key)}: `, item }));
  const [open, close] = Array.isArray(value) ? "[]" : "{}";
  return `${open}\n${joinShort(parts, inner)}\n${indent}${close}`;
}

/** Several short entries share a line. */
function joinShort(parts: readonly { readonly head: string; readonly item: unknown }[], indent: string): string {
  const lines: string[] = [];
  let line = "";
  for (const [index, { head, item }] of parts.entries()) {
    const text = `${head}${writeJson(item, indent, head.length)}${index === parts.length - 1 ? "" : ","}`;
    const joined = line === "" ? text : `${line} ${text}`;
    if (!text.includes("\n") && indent.length + joined.length <= WIDTH) line = joined;
    else {
      if (line !== "") lines.push(line);
      line = text.includes("\n") ? "" : text;
      if (text.includes("\n")) lines.push(text);
    }
  }
  if (line !== "") lines.push(line);
  return lines.map((one) => indent + one).join("\n");
}

function writeLine(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(writeLine).join(", ")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  const entries = Object.entries(value).map(([key, item]) => `${JSON.stringify(key)}: ${writeLine(item)}`);
  return entries.length === 0 ? "{}" : `{ ${entries.join(", ")} }`;
}
