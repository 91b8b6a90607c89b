/** A fake registry, for tests of expansions. */
import type { FactoryInfo, PropertyInfo, Registry } from "../schemas/registry.ts";
import type { ExpandContext } from "./element.ts";

export function makeFactory(name: string, part: Partial<FactoryInfo> = {}): FactoryInfo {
  return {
    name,
    longName: name,
    about: "",
    klass: "",
    plugin: "",
    rank: 0,
    pads: [],
    liveSource: false,
    properties: {},
    bases: [],
    ...part,
  };
}

export function makeProperty(kind: PropertyInfo["kind"], part: Partial<PropertyInfo> = {}): PropertyInfo {
  return {
    kind,
    gtype: "",
    about: "",
    default: null,
    writable: true,
    readable: true,
    live: false,
    deprecated: false,
    ...part,
  };
}

export const makeNicks = (...nicks: readonly string[]): NonNullable<PropertyInfo["values"]> =>
  nicks.map((nick, value) => ({ nick, value, about: "" }));

export function makeContext(
  factories: readonly FactoryInfo[] = [],
  part: Partial<Omit<ExpandContext, "registry">> = {},
): ExpandContext {
  const registry: Registry = {
    list: () => factories,
    get: (name) => factories.find((factory) => factory.name === name),
  };
  return { registry, source: null, live: false, ...part };
}
