/** All elements, one line each: ours first, then GStreamer's by plugin. */
import type { AnyElement } from "../../../elements/element.ts";
import type { FactoryInfo, Registry } from "../../../schemas/registry.ts";
import { propertiesOf, propertiesOfFactory, propertiesOfPads, type ShownProperty } from "./property.ts";

export interface ListedElement {
  readonly plugin: string;
  readonly name: string;
  readonly about: string;
  /** Where the word was found, if not in the three above. */
  readonly matched: readonly Match[];
}

export interface Match {
  /** `description`, or the name of a property. */
  readonly where: string;
  /** The description of the element or property, or the choice that has the word. */
  readonly text: string;
}

export const OURS = "windhover";

interface Candidate extends Omit<ListedElement, "matched"> {
  readonly description: string;
  properties(): readonly ShownProperty[];
}

/** `word`, if any, must occur in the name, plugin or description of the element or of one of its properties. */
export function listElements(
  elements: ReadonlyMap<string, AnyElement>,
  registry: Registry,
  word: string | undefined,
): readonly ListedElement[] {
  const ours: readonly Candidate[] = [...elements.values()].map((element) => {
    const { name, about } = element;
    return { plugin: OURS, name, about, description: about, properties: () => propertiesOf(element) };
  });
  // Elements that our addon brings along belong to no plugin.
  const native: readonly Candidate[] = registry.list().map(({ plugin, name, longName, about }) => ({
    plugin: plugin || OURS,
    name,
    about: longName,
    description: about,
    properties: () => listProperties(registry.get(name)),
  }));
  const byPlugin = [...native].sort((a, b) => compare(a.plugin, b.plugin) || compare(a.name, b.name));
  const wanted = word?.toLowerCase() ?? "";
  return [...ours, ...byPlugin].flatMap(({ plugin, name, about, description, properties }): ListedElement[] => {
    if (has(`${plugin} ${name} ${about}`, wanted)) return [{ plugin, name, about, matched: [] }];
    if (has(description, wanted))
      return [{ plugin, name, about, matched: [{ where: "description", text: description }] }];
    const matched = properties().flatMap((property) => match(property, wanted));
    return matched.length === 0 ? [] : [{ plugin, name, about, matched }];
  });
}

const listProperties = (factory: FactoryInfo | undefined): readonly ShownProperty[] =>
  factory === undefined ? [] : [...propertiesOfFactory(factory), ...propertiesOfPads(factory)];

function match({ name, about, choices }: ShownProperty, wanted: string): readonly Match[] {
  if (has(`${name} ${about}`, wanted)) return [{ where: name, text: about }];
  const choice = choices.find((candidate) => has(`${candidate.name} ${candidate.about}`, wanted));
  return choice === undefined ? [] : [{ where: name, text: `${choice.name}: ${choice.about}` }];
}

const has = (text: string, wanted: string): boolean => text.toLowerCase().includes(wanted);

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
