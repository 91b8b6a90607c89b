/** Properties of pads (`sink_1::xpos`) belong to pads that are linked: any other pad would never come to be. */
import type { FaultList } from "./fault-list.ts";
import { matchesTemplate, splitPadProperty } from "./pad-names.ts";
import type { PadUse } from "./pads.ts";
import type { Part, ResolvedStep } from "./resolved.ts";

export interface PadPropertyCheck {
  readonly isPartial: boolean;
  readonly faults: FaultList;
}

/** By part: properties that belong to pads nothing is linked to. A fault, unless steps are left out. */
export function checkPadProperties(
  steps: readonly ResolvedStep[],
  use: PadUse,
  { isPartial, faults }: PadPropertyCheck,
): ReadonlyMap<Part, ReadonlySet<string>> {
  const unlinked = new Map<Part, Set<string>>();
  for (const step of steps) {
    for (const part of step.parts) {
      const taken = use.taken.get(part) ?? new Set<string>();
      for (const key of Object.keys(part.properties)) {
        const pad = splitPadProperty(key)?.pad;
        if (pad === undefined || taken.has(pad) || isAlwaysThere(part, pad)) continue;
        unlinked.set(part, (unlinked.get(part) ?? new Set()).add(key));
        if (isPartial) continue;
        const linked = [...taken].filter((name) => !isAlwaysThere(part, name));
        faults.add(
          "bad_property",
          part.origins[key]?.at ?? step.at,
          `${part.factory}.${key} is for a pad that nothing is linked to`,
          {
            expected: `a link to ${step.name}.${pad}${linked.length === 0 ? "" : `, or a pad that is linked: ${linked.join(", ")}`}`,
          },
        );
      }
    }
  }
  return unlinked;
}

const isAlwaysThere = (part: Part, name: string): boolean =>
  part.pads.some((pad) => pad.presence === "always" && matchesTemplate(pad, name));
