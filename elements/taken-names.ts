/** Elements of workspaces must have names of their own: graphs would mean another element by the same word. */
import { existsSync, readFileSync } from "node:fs";
import type { BrokenElement } from "./element.ts";
import type { FoundElement } from "./find.ts";

/** `path`: absolute, of one outside of Windhover. */
type Named = FoundElement & { readonly path?: string };

/** `owner` says whose name it is. */
export const rejectName = (element: Named, owner: string): BrokenElement => ({
  name: element.name,
  place: `${element.file}${findName(element)}`,
  reason: `the name "${element.name}" is taken by ${owner}; expected another name`,
});

/** `:line:column` of its name in the definition; empty if it is not found. */
function findName({ path, name }: Named): string {
  if (path === undefined || !existsSync(path)) return "";
  const lines = readFileSync(path, "utf8").split("\n");
  const quoted = [`"${name}"`, `'${name}'`];
  const index = lines.findIndex((line) => line.includes("name:") && quoted.some((text) => line.includes(text)));
  const line = lines[index] ?? "";
  return index < 0 ? "" : `:${index + 1}:${Math.max(...quoted.map((text) => line.indexOf(text))) + 1}`;
}
