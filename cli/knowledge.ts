/** What graphs are checked against: the elements of this checkout and the registry of this machine. */
import type { Elements } from "../elements/element.ts";
import type { Registry } from "../schemas/registry.ts";
import type { Terminal } from "./terminal.ts";

export interface Knowledge {
  readonly elements: Elements;
  readonly registry: Registry;
}

/** Elements that could not be loaded are reported on standard error; without a terminal they are only left out. */
export async function loadKnowledge(terminal: Terminal | null): Promise<Knowledge> {
  const [{ loadElements }, { loadRegistry }] = await Promise.all([
    import("../elements/index.ts"),
    import("../graphs/runtime/registry.ts"),
  ]);
  const elements = await loadElements();
  if (terminal !== null) reportBroken(elements, terminal);
  return { elements, registry: loadRegistry() };
}

function reportBroken({ broken }: Elements, terminal: Terminal): void {
  for (const { name, place, reason } of broken?.values() ?? [])
    if (terminal.isJson) terminal.say(JSON.stringify({ type: "broken-element", name, place, reason }));
    else terminal.say(`${terminal.paintErr("yellow", `${place}:`)} ${reason}; the element "${name}" is left out`);
}
