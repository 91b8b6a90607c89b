/** `use:` → the steps of the part, with the values of its parameters; all other steps stay as they are. */
import { suggest } from "../../schemas/suggest.ts";
import { describeSchema } from "./describe.ts";
import type {
  Chain,
  ElementStep,
  GraphDocument,
  Named,
  Param,
  PartDefinition,
  PartUse,
  Step,
  UnreadableStep,
  UseStep,
  WrittenStep,
} from "./document.ts";
import type { FaultList } from "./fault.ts";
import { type FoundPart, PartFinder, type PartScope } from "./find-parts.ts";
import { MAX_PART_DEPTH, MAX_PART_VALUES } from "./limits.ts";
import { findEntry, type Located, type LocatedScalar, locate } from "./located.ts";
import { checkParam } from "./params.ts";
import { literal, type PartPlace, placeAt, placeEntry, placeValue, placeWhen, readLiteral } from "./part-values.ts";
import type { Position } from "./plan.ts";
import { validate } from "./schema-check.ts";
import { placeJoins } from "./values-to-chains.ts";
import { rejectJoins, type WrittenDocument } from "./values-to-document.ts";

/** What the steps of a part get from the uses around it. */
interface Around {
  /** Before the name of each node. */
  readonly prefix: string;
  readonly when: readonly LocatedScalar[];
  readonly uses: readonly PartUse[];
  /** The parts that it is in, outermost first. */
  readonly parts: readonly PartDefinition[];
}

/** A longer text counts as several values. */
const CHARS_OF_VALUE = 256;

const NOTHING: Around = { prefix: "", when: [], uses: [], parts: [] };

/** Inlines the parts of one graph and of those that it extends, within one limit. */
export class PartInliner {
  readonly #faults: FaultList;
  readonly #finder: PartFinder;
  /** Whether the parameters of a part are declared correctly. */
  readonly #checked = new Map<PartDefinition, boolean>();
  readonly #sizes = new WeakMap<Located, number>();
  #valuesLeft = MAX_PART_VALUES;

  constructor(faults: FaultList) {
    this.#faults = faults;
    this.#finder = new PartFinder(faults);
  }

  inline(document: WrittenDocument, scope: PartScope): GraphDocument {
    const before = this.#faults.size;
    const inlineChain = (chain: Chain<WrittenStep>): Chain => ({
      ...chain,
      steps: placeJoins(this.#inlineSteps(chain.steps, scope), this.#faults),
    });
    const inlined = {
      ...document,
      chains: document.chains.map(inlineChain),
      slots: document.slots.map((slot) => ({ ...slot, chain: inlineChain(slot.chain) })),
      edits: {
        ...document.edits,
        insert: document.edits.insert.map((item) => ({
          ...item,
          steps: rejectJoins(this.#inlineSteps(item.steps, scope), this.#faults),
        })),
      },
    };
    return this.#faults.size > before ? { ...inlined, damaged: true } : inlined;
  }

  /** Parts that nothing uses are checked as far as they can be alone. */
  checkUnused(parts: PartScope["parts"]): void {
    for (const { definition, scope } of parts.values()) {
      if (this.#checked.has(definition) || !this.#areParamsValid(definition)) continue;
      const self = definition.params.map(
        ({ name, at }) => [name, { kind: "scalar", at, value: `$${name}` } as const] as const,
      );
      this.#inlineBody({ definition, scope }, new Map(self), null, { ...NOTHING, parts: [definition] });
    }
  }

  #inlineSteps(steps: readonly WrittenStep[], scope: PartScope): readonly Step[] {
    return steps.flatMap((step) => (step.kind === "use" ? this.#inlineUse(step, scope, NOTHING) : [step]));
  }

  /** `use` is written in terms of the graph. One unreadable step stands for a use that is wrong. */
  #inlineUse(use: UseStep, scope: PartScope, around: Around): readonly Step[] {
    const wrong: readonly UnreadableStep[] = [{ kind: "unreadable", at: use.at }];
    const found = this.#spend(1, use.at) ? this.#finder.find(use.part, scope) : null;
    if (found === null || !this.#mayNest(use.part, found.definition, around)) return wrong;
    const { definition } = found;
    const values = this.#areParamsValid(definition) ? this.#bind(use, definition) : null;
    if (values === null) return wrong;
    const unknown = definition.params.flatMap((param): PartUse["values"] => {
      const value = values.get(param.name);
      return value === undefined || readLiteral(value) !== undefined ? [] : [{ param, value }];
    });
    return this.#inlineBody(found, values, use.at, {
      prefix: around.prefix + (use.name === null ? "" : `${use.name.value}-`),
      when: [...around.when, ...(use.when === null ? [] : [use.when])],
      uses: unknown.length === 0 ? around.uses : [...around.uses, { part: definition.name, values: unknown }],
      parts: [...around.parts, definition],
    });
  }

  #mayNest({ at }: Named, definition: PartDefinition, { parts }: Around): boolean {
    const again = parts.indexOf(definition);
    if (again >= 0) {
      const cycle = [...parts.slice(again), definition].map(({ name }) => name);
      this.#faults.add("part_cycle", at, `the parts use each other in a cycle: ${cycle.join(" → ")}`);
      return false;
    }
    if (parts.length < MAX_PART_DEPTH) return true;
    this.#faults.add("yaml_too_complex", at, `${MAX_PART_DEPTH} parts use one another`, {
      expected: `at most ${MAX_PART_DEPTH}`,
    });
    return false;
  }

  #areParamsValid(definition: PartDefinition): boolean {
    const known = this.#checked.get(definition);
    if (known !== undefined) return known;
    const before = this.#faults.size;
    for (const param of definition.params) checkParam(param, this.#faults);
    const isValid = this.#faults.size === before;
    this.#checked.set(definition, isValid);
    return isValid;
  }

  /** The values of the part's parameters; null when a value is missing or wrong. */
  #bind({ given, at }: UseStep, { name: part, params }: PartDefinition): ReadonlyMap<string, Located> | null {
    const before = this.#faults.size;
    const names = params.map(({ name }) => name);
    for (const entry of given)
      if (!names.includes(entry.key))
        this.#faults.add("unknown_param", entry.at, `part "${part}" has no parameter "${entry.key}"`, {
          expected: names.join(", ") || "no parameters",
          suggestion: suggest(entry.key, names),
        });
    const values = new Map<string, Located>();
    for (const param of params) {
      const value = given.find(({ key }) => key === param.name)?.value ?? fallbackOf(param, at);
      if (value !== undefined) {
        if (this.#afford(value)) this.#checkLiteral(param, value, part);
        values.set(param.name, value);
        continue;
      }
      this.#faults.add("missing_param", at, `parameter "${param.name}" of part "${part}" is not given`, {
        expected: `\`${param.name}: …\`, ${describeSchema(param.schema)}`,
      });
    }
    return this.#faults.size === before ? values : null;
  }

  #checkLiteral(param: Param, value: Located, part: string): void {
    const known = readLiteral(value);
    if (known === undefined) return;
    for (const { path, found, expected } of validate(param.schema, known)) {
      const what = [param.name, ...path].join(".");
      this.#faults.add("bad_param", locate(value, path), `parameter "${what}" of part "${part}" is ${found}`, {
        expected,
      });
    }
  }

  #inlineBody(
    { definition, scope }: FoundPart,
    values: ReadonlyMap<string, Located>,
    usedAt: Position | null,
    around: Around,
  ): readonly Step[] {
    const place: PartPlace = { part: definition.name, values, usedAt, faults: this.#faults };
    return definition.steps.flatMap((step): readonly Step[] => {
      const at = placeAt(step.at, place);
      if (!this.#spend(1, at)) return [{ kind: "unreadable", at }];
      if (step.kind === "use") return this.#inlineUse(this.#placeUse(step, place), scope, around);
      return [step.kind === "element" ? this.#placeElement(step, place, around) : { ...step, at }];
    });
  }

  #placeUse(use: UseStep, place: PartPlace): UseStep {
    return {
      ...use,
      at: placeAt(use.at, place),
      part: { ...use.part, at: placeAt(use.part.at, place) },
      when: use.when === null ? null : placeWhen(use.when, place),
      given: use.given.map((entry) => placeEntry(entry, place)).filter(({ value }) => this.#afford(value)),
    };
  }

  #placeElement(step: ElementStep, place: PartPlace, { prefix, when, uses }: Around): ElementStep {
    const { name } = step;
    return {
      ...step,
      at: placeAt(step.at, place),
      name: name === null ? null : { value: prefix + name.value, at: placeAt(name.at, place) },
      stem: prefix + step.stem,
      when: [...when, ...step.when.map((condition) => placeWhen(condition, place))],
      properties: step.properties.map((entry) => placeEntry(entry, place)).filter(({ value }) => this.#afford(value)),
      main: step.main === null ? null : this.#placeMain(step.main, place),
      uses,
    };
  }

  #placeMain(main: Located, place: PartPlace): Located {
    const value = placeValue(main, place);
    this.#afford(value);
    return value;
  }

  /** False when the limit is reached, which is reported once. */
  #spend(values: number, at: Position): boolean {
    const wasLeft = this.#valuesLeft >= 0;
    this.#valuesLeft -= values;
    if (wasLeft && this.#valuesLeft < 0)
      this.#faults.add("yaml_too_complex", at, "the parts have too many values where they are used", {
        expected: `at most ${MAX_PART_VALUES} values`,
      });
    return this.#valuesLeft >= 0;
  }

  #afford = (value: Located): boolean => this.#spend(this.#sizeOf(value), value.at);

  #sizeOf(value: Located): number {
    const known = this.#sizes.get(value);
    if (known !== undefined) return known;
    const inner =
      value.kind === "list" ? value.items : value.kind === "map" ? value.entries.map((entry) => entry.value) : [];
    const chars = value.kind === "scalar" && typeof value.value === "string" ? value.value.length : 0;
    const size = inner.reduce((sum, item) => sum + this.#sizeOf(item), 1 + Math.floor(chars / CHARS_OF_VALUE));
    this.#sizes.set(value, size);
    return size;
  }
}

const fallbackOf = ({ written }: Param, usedAt: Position): Located | undefined => {
  const entry = findEntry(written, "default");
  return entry === undefined ? undefined : literal(entry.value, (at) => ({ ...at, usedAt }));
};
