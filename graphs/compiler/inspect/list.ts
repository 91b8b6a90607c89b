/** All elements, one line each: ours first, then GStreamer's by plugin. */
import type { AnyElement } from "../../../elements/element.ts";
import type { Registry } from "../../../schemas/registry.ts";

export interface ListedElement {
  readonly plugin: string;
  readonly name: string;
  readonly about: string;
}

export const OURS = "windhover";

/** `word`, if any, must occur in the name, plugin or description. */
export function listElements(
  elements: ReadonlyMap<string, AnyElement>,
  registry: Registry,
  word: string | undefined,
): readonly ListedElement[] {
  const ours = [...elements.values()].map(({ name, about }) => ({ plugin: OURS, name, about }));
  // Elements that our addon brings along belong to no plugin.
  const native = registry
    .list()
    .map(({ plugin, name, longName }) => ({ plugin: plugin || OURS, name, about: longName }));
  const byPlugin = [...native].sort((a, b) => compare(a.plugin, b.plugin) || compare(a.name, b.name));
  const wanted = word?.toLowerCase() ?? "";
  return [...ours, ...byPlugin].filter(({ plugin, name, about }) =>
    `${plugin} ${name} ${about}`.toLowerCase().includes(wanted),
  );
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
