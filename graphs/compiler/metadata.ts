import { listVariables, NO_VALUES } from "../../expressions/variables.ts";
import type { NodeVariables, Variables } from "../../schemas/expression.ts";
import type { FactoryInfo } from "../../schemas/registry.ts";
import { checkExpressions, computeValues } from "./check-expressions.ts";
import { type Edge, groupBy, type Ordered } from "./connect-chains.ts";
import { listChoices } from "./describe.ts";
import type { Part, Resolution, ResolvedStep } from "./resolve-steps.ts";

interface Known {
  /** Keys that every frame has at this point. */
  readonly keys: ReadonlySet<string>;
  /** Keys that frames had before, and the element that dropped them. */
  readonly lost: ReadonlyMap<string, Part>;
  /** Values that elements compute for expressions. */
  readonly values: NodeVariables;
  /** Variables of the step's own expressions; absent without expressions. */
  readonly variables?: NodeVariables;
}

/** `unknown` after an unreadable step, which may write anything. */
export type Available = Known | "unknown";

const NOTHING: Known = { keys: new Set(), lost: new Map(), values: NO_VALUES };

/** `given`: results of earlier steps, such as the tee a slot is attached to. */
export function followMetadata(
  ordered: Ordered,
  given: ReadonlyMap<ResolvedStep, Available>,
  resolution: Resolution,
): ReadonlyMap<ResolvedStep, Available> {
  const incoming = groupBy(ordered.edges, (edge) => edge.to);
  const result = new Map(given);
  for (const step of ordered.steps) {
    if (result.has(step)) continue;
    const arriving = meet((incoming.get(step) ?? []).map((edge: Edge) => result.get(edge.from) ?? NOTHING));
    if (!step.broken) checkReads(step, arriving, resolution);
    const opaque = step.broken && step.definition === null;
    result.set(step, arriving === "unknown" || opaque ? "unknown" : passOn(step, arriving, resolution));
  }
  return result;
}

function passOn(step: ResolvedStep, arriving: Known, resolution: Resolution): Known {
  const { registry } = resolution;
  const writes = step.definition?.writes ?? [];
  const loser = step.parts.find((part) => {
    const factory = part.kind === "native" ? registry.get(part.factory) : undefined;
    return factory !== undefined && losesMetadata(factory);
  });
  const { keys, lost, values } = loser === undefined ? arriving : drop(arriving, loser);
  // New objects do not have the values of those before.
  const kept = writes.some((key) => OBJECT_KEYS.includes(key)) ? { ...values, object: {} } : values;
  const passed = { keys: new Set([...keys, ...writes]), lost, values: kept };
  if (step.expressions.length === 0 && step.values.length === 0) return passed;
  const variables = listVariables(arriving.keys, arriving.values);
  checkExpressions(step, variables, resolution);
  return { ...passed, values: computeValues(step, variables, kept, resolution), variables };
}

const OBJECT_KEYS = ["detections", "tracks"];

const drop = ({ keys, lost }: Known, loser: Part): Known => ({
  keys: new Set(),
  lost: new Map([...lost, ...[...keys].map((key) => [key, loser] as const)]),
  values: NO_VALUES,
});

function meet(all: readonly Available[]): Available {
  const known = all.filter((available) => available !== "unknown");
  const [first, ...rest] = known;
  if (first === undefined) return all.length === 0 ? NOTHING : "unknown";
  return {
    keys: new Set([...first.keys].filter((key) => rest.every((other) => other.keys.has(key)))),
    lost: new Map(known.flatMap(({ lost }) => [...lost])),
    values: {
      object: shared(known.map(({ values }) => values.object)),
      frame: shared(known.map(({ values }) => values.frame)),
    },
  };
}

/** Those that all have, with the same type. */
function shared([first = {}, ...rest]: readonly Variables[]): Variables {
  return Object.fromEntries(
    Object.entries(first).filter(([name, type]) => rest.every((other) => other[name] === type)),
  );
}

function checkReads(step: ResolvedStep, arriving: Available, { elements, faults }: Resolution): void {
  if (arriving === "unknown") return;
  const name = step.name.replace(/^.*\//, "");
  if (step.definition?.wholeFrame === true && arriving.keys.has("crop"))
    faults.add("missing_metadata", step.at, `"${name}" needs the whole picture, but an element before it crops it`, {
      expected: `"${name}" before \`crop\`, or on a branch of a \`tee\` before it`,
    });
  for (const read of step.reads) {
    if (typeof read === "object" && "optional" in read) continue;
    const wanted = typeof read === "string" ? [read] : read.oneOf;
    if (wanted.some((key) => arriving.keys.has(key))) continue;
    const what = wanted.map((key) => `"${key}"`).join(" or ");
    const loser = wanted.map((key) => arriving.lost.get(key)).find((part) => part !== undefined);
    if (loser !== undefined) {
      const lost = `"${name}" reads ${what}, which "${loser.name}" drops: ${loser.factory} creates new frames without metadata`;
      const expected = `"${name}" before "${loser.name}", or on a branch of a \`tee\` before it`;
      faults.add("missing_metadata", step.at, lost, { expected });
      continue;
    }
    const writers = [...elements.values()].filter((element) => element.writes?.some((key) => wanted.includes(key)));
    faults.add("missing_metadata", step.at, `"${name}" reads ${what}, which no element before it writes`, {
      expected:
        writers.length === 0
          ? `an element that writes ${what}`
          : `${listChoices(writers.map((writer) => `\`${writer.name}\``))} before it`,
    });
  }
}

/**
 * GStreamer elements whose output frames lack the metadata of their input. Filters, converters, encoders, decoders,
 * payloaders, queues and selectors keep it: their base classes copy it, or they pass the same buffer on. Measured with
 * every element that accepts raw video. Mixers drop it, as a box of one input is elsewhere in the mixed frame.
 */
export const losesMetadata = ({ name, klass, bases }: Pick<FactoryInfo, "name" | "klass" | "bases">): boolean =>
  NAMES.has(name) || KLASS.test(klass) || bases.some((base) => BASES.has(base));

const BASES = new Set(["GstAggregator", "GstRawBaseParse"]);
const KLASS = /\b(Compositor|Muxer|Demuxer)\b/;
/** Not recognisable by base class or klass. */
const NAMES = new Set(["interlace", "smpte", "videoparse"]);
