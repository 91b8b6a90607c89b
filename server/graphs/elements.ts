/** Elements as the API shows them: what `windhover inspect` prints. */
import {
  listElements,
  OURS,
  propertiesOf,
  propertiesOfFactory,
  propertiesOfPads,
  type ShownProperty,
} from "../../graphs/compiler/inspect.ts";
import { ALLOWED_ELEMENTS } from "../../graphs/compiler/restrict.ts";
import type { ElementProperty, ElementRecord } from "../../schemas/api/graphs.ts";
import type { FactoryInfo } from "../../schemas/registry.ts";
import { didYouMean } from "../../schemas/suggest.ts";
import { ServiceError } from "../service-error.ts";
import type { GraphLibrary } from "./library.ts";

type Known = Pick<GraphLibrary, "elements" | "registry">;

export const showElements = ({ elements, registry }: Known, find: string | undefined) =>
  listElements(elements, registry, find).map(({ name, plugin, about }) => ({ name, plugin, about }));

/** Throws `element_not_found`. */
export function showElement({ elements, registry }: Known, name: string): ElementRecord {
  const ours = elements.get(name);
  if (ours !== undefined)
    return {
      name,
      plugin: OURS,
      about: ours.about,
      kind: ours.kind,
      can_try: ALLOWED_ELEMENTS.has(name),
      caps: ours.kind === "composite" ? null : ours.caps,
      reads: [...(ours.reads ?? [])],
      writes: [...(ours.writes ?? [])],
      example: ours.example.trim(),
      class: null,
      rank: null,
      pads: [],
      properties: propertiesOf(ours).map(showProperty),
    };
  const factory = registry.get(name);
  if (factory !== undefined) return showFactory(factory);
  const names = [...elements.keys(), ...registry.list().map((listed) => listed.name)];
  throw new ServiceError("element_not_found", {
    detail: `There is no element "${name}"${didYouMean(name, names)}; \`GET /elements?find=\` looks further.`,
  });
}

const showFactory = (factory: FactoryInfo): ElementRecord => ({
  name: factory.name,
  plugin: factory.plugin || OURS,
  about: factory.about,
  kind: "native",
  can_try: ALLOWED_ELEMENTS.has(factory.name),
  caps: null,
  reads: [],
  writes: [],
  example: null,
  class: factory.klass,
  rank: factory.rank,
  pads: factory.pads.map(({ name, direction, presence, caps }) => ({ name, direction, presence, caps })),
  properties: [...propertiesOfFactory(factory), ...propertiesOfPads(factory)].map(showProperty),
});

const showProperty = (property: ShownProperty): ElementProperty => ({
  name: property.name,
  type: property.type,
  ...(property.default !== undefined && { default: property.default }),
  required: property.required,
  live: property.live,
  read_only: property.readOnly,
  deprecated: property.deprecated,
  about: property.about,
  choices: property.choices.map(({ name, about }) => ({ name, about })),
});
