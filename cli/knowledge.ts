/** What graphs are checked against: the elements of this checkout and the registry of this machine. */
import type { AnyElement } from "../elements/element.ts";
import type { Registry } from "../schemas/registry.ts";

export interface Knowledge {
  readonly elements: ReadonlyMap<string, AnyElement>;
  readonly registry: Registry;
}

export async function loadKnowledge(): Promise<Knowledge> {
  const [{ loadElements }, { loadRegistry }] = await Promise.all([
    import("../elements/index.ts"),
    import("../graphs/runtime/registry.ts"),
  ]);
  return { elements: await loadElements(), registry: loadRegistry() };
}
