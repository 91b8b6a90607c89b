/** Keeps vehicles that drive together as one convoy, and reports when it changes. */
import { type Static, Type } from "typebox";
import type { JsonRecord } from "../../../schemas/json.ts";
import {
  type AlertType,
  count,
  type Evaluator,
  exampleOutput,
  MAX_LISTED,
  NO_EVENTS,
  type RuleMatch,
  type Scene,
  type Sighting,
  seconds,
} from "../alert-type.ts";
import { checkFilter, Filter, TrackFilter } from "../filter.ts";
import { Area, checkRegion, Region } from "../region.ts";
import { distanceM, findDirection, findGroups, order, type Vehicle } from "./group.ts";

/** Every pair is compared: further tracks of a frame are ignored. */
const MAX_VEHICLES = 200;
/** A single vehicle is not a convoy. */
const FEWEST = 2;

const schemas = {
  trigger: Type.Object(
    {
      count: count("Minimum number of vehicles of a new convoy.", 3),
      for_seconds: seconds(
        "Time for which vehicles drive together before they are a convoy or join it, and are apart before they have left it.",
        2,
      ),
    },
    { additionalProperties: false, description: "When vehicles are a convoy." },
  ),
  region: Region,
  filter: Filter,
  parameters: Type.Object(
    {
      max_gap_m: Type.Optional(
        Type.Number({
          default: 50,
          exclusiveMinimum: 0,
          maximum: 10_000,
          description: "Maximum distance of a vehicle to the next one, in metres on the map.",
        }),
      ),
      max_speed_difference_mps: Type.Optional(
        Type.Number({
          default: 5,
          minimum: 0,
          maximum: 1000,
          description: "Maximum difference of their speeds, in metres per second.",
        }),
      ),
      max_heading_difference: Type.Optional(
        Type.Number({
          default: 60,
          minimum: 0,
          maximum: 180,
          description: "Maximum difference of their headings in degrees. Oncoming vehicles differ by 180.",
        }),
      ),
      interval_seconds: seconds("Time between two reports of a convoy that has not changed.", 5, 0.1),
      lost_after_seconds: seconds("A vehicle that was not detected for this time has left.", 3, 0.1),
    },
    { additionalProperties: false, description: "Which vehicles drive together, and how often to report." },
  ),
};

interface ConvoyConfiguration {
  readonly trigger: Required<Static<typeof schemas.trigger>>;
  readonly region: Region;
  readonly filter: Filter;
  readonly parameters: Required<Static<typeof schemas.parameters>>;
}

export const convoy: AlertType = {
  name: "convoy",
  about:
    "Keeps vehicles that drive together as one convoy; needs geolocated tracks. `triggered` when `count` vehicles have driven together for `for_seconds`, `updated` when vehicles join, leave or a part splits off, and every `interval_seconds`, `cleared` when fewer than two are left. `data` has the members from the head to the end, the distances between them, the length and speed of the convoy, and what has changed. Only moving vehicles form or join a convoy; it may stop. Several convoys have different numbers.",
  schemas,
  example: {
    alias: "Convoy",
    type: "convoy",
    trigger: { count: 3, for_seconds: 2 },
    filter: { class_names: ["car", "truck", "bus"] },
    parameters: { max_gap_m: 50, interval_seconds: 5 },
    output: exampleOutput("alerts/convoy"),
  },
  check({ region, filter }) {
    return [...checkRegion(region as Region), ...checkFilter(filter as Filter)];
  },
  create: (configuration) => new ConvoyWatch(configuration as unknown as ConvoyConfiguration),
};

interface Member extends Vehicle {
  readonly sighting: Sighting;
  readonly seenMs: number;
}

type Groups = readonly (readonly Member[])[];

interface Convoy {
  readonly number: number;
  readonly formedMs: number;
  /** From the head to the end. */
  members: readonly Member[];
  direction: readonly [x: number, y: number];
  notifiedMs: number;
  /** Members apart from the convoy and vehicles beside it, by id: since when. */
  readonly apartMs: Map<number, number>;
  readonly besideMs: Map<number, number>;
}

class ConvoyWatch implements Evaluator {
  readonly #area: Area;
  readonly #filter: TrackFilter;
  readonly #trigger: ConvoyConfiguration["trigger"];
  readonly #parameters: ConvoyConfiguration["parameters"];
  readonly #vehicles = new Map<number, Member>();
  /** Vehicles of no convoy that drive with others, by id: since when. */
  readonly #togetherMs = new Map<number, number>();
  #convoys: readonly Convoy[] = [];
  #formed = 0;
  #hasJumped = false;

  constructor({ trigger, region, filter, parameters }: ConvoyConfiguration) {
    this.#area = new Area(region);
    this.#filter = new TrackFilter(filter);
    this.#trigger = trigger;
    this.#parameters = parameters;
  }

  see(scene: Scene): readonly RuleMatch[] {
    const events = this.#hasJumped ? this.#reset() : [];
    this.#place(scene);
    if (this.#vehicles.size < FEWEST && this.#convoys.length === 0) return events.length > 0 ? events : NO_EVENTS;
    const groups = findGroups([...this.#vehicles.values()], this.#parameters);
    // The larger one first: it absorbs another one that it meets.
    const convoys = [...this.#convoys].sort((a, b) => b.members.length - a.members.length || a.number - b.number);
    const taken = new Set<number>();
    for (const one of convoys) events.push(...this.#follow(one, groups, taken, scene.timeMs));
    this.#convoys = convoys.filter(({ members }) => members.length >= FEWEST);
    for (const group of groups) events.push(...this.#form(group, taken, scene.timeMs));
    for (const id of this.#togetherMs.keys()) if (!this.#vehicles.has(id)) this.#togetherMs.delete(id);
    return events;
  }

  forget(): void {
    this.#hasJumped = this.#convoys.length > 0;
    this.#vehicles.clear();
    this.#togetherMs.clear();
  }

  #reset(): RuleMatch[] {
    const lost = this.#convoys;
    this.#convoys = [];
    this.#hasJumped = false;
    return lost.map((one) => describe("cleared", one, { reason: "stream_jumped" }));
  }

  /** Vehicles keep their last position while they are not detected. */
  #place({ sightings, ended, timeMs }: Scene): void {
    for (const sighting of sightings) {
      const { track, place } = sighting;
      const spot = place?.spot ?? null;
      if (spot === null || !this.#filter.isSeen(sighting)) continue;
      if (!this.#filter.passes(sighting) || !this.#area.has(this.#area.xOf(sighting), this.#area.yOf(sighting))) {
        this.#vehicles.delete(track.id);
        continue;
      }
      if (!this.#vehicles.has(track.id) && this.#vehicles.size >= MAX_VEHICLES) continue;
      const { longitude, latitude, speedMps, heading: headingDeg } = spot;
      const vehicle = { id: track.id, longitude, latitude, speedMps, headingDeg, sighting, seenMs: timeMs };
      this.#vehicles.set(track.id, vehicle);
    }
    for (const id of ended) this.#vehicles.delete(id);
    const lostMs = timeMs - this.#parameters.lost_after_seconds * 1000;
    for (const [id, { seenMs }] of this.#vehicles) if (seenMs < lostMs) this.#vehicles.delete(id);
  }

  /** Brings a convoy up to date, and adds its vehicles to `taken`. */
  #follow(one: Convoy, groups: Groups, taken: Set<number>, timeMs: number): readonly RuleMatch[] {
    const last = one.members;
    const own = last.filter(({ id }) => !taken.has(id));
    const present = own.flatMap(({ id }) => this.#vehicles.get(id) ?? []);
    const [core = [], ...others] = partsOf(present, groups);
    const apart = others.filter((part) =>
      part.map((member) => this.#isFor(one.apartMs, member, timeMs)).every(Boolean),
    );
    forgetOthers(one.apartMs, others.flat());
    const beside = (groups.find((group) => group.some((vehicle) => vehicle === core[0])) ?? []).filter(
      (vehicle) => !present.includes(vehicle) && !taken.has(vehicle.id) && vehicle.headingDeg !== null,
    );
    const joined = beside.filter((vehicle) => this.#isFor(one.besideMs, vehicle, timeMs));
    forgetOthers(one.besideMs, beside);
    const stay = [...present.filter((member) => !apart.some((part) => part.includes(member))), ...joined];
    one.direction = findDirection(stay) ?? one.direction;
    one.members = order(stay, one.direction);
    for (const { id } of one.members) taken.add(id);
    // Not seen now, or in another convoy.
    const lost = last.filter(({ id }) => !idsOf(present).includes(id));
    const change = {
      joined: idsOf(joined),
      left: idsOf([...lost, ...apart.filter(({ length }) => length === 1).flat()]),
      split: apart.filter(({ length }) => length > 1).map(idsOf),
    };
    if (one.members.length < FEWEST) {
      one.members = [];
      const reason = own.length < last.length ? "merged" : apart.length > 0 ? "apart" : "not_seen";
      return [describe("cleared", { ...one, members: last }, { reason, ...change })];
    }
    const isChanged = joined.length + lost.length + apart.length > 0;
    if (!isChanged && timeMs - one.notifiedMs < this.#parameters.interval_seconds * 1000) return NO_EVENTS;
    one.notifiedMs = timeMs;
    return [describe("updated", one, change)];
  }

  /** A new convoy of vehicles that are in none. */
  #form(group: readonly Member[], taken: ReadonlySet<number>, timeMs: number): readonly RuleMatch[] {
    const free = group.filter(({ id, headingDeg }) => !taken.has(id) && headingDeg !== null);
    const together = free.length < FEWEST ? [] : free;
    for (const { id } of group) if (!together.some((vehicle) => vehicle.id === id)) this.#togetherMs.delete(id);
    const members = together.filter((vehicle) => this.#isFor(this.#togetherMs, vehicle, timeMs));
    const direction = findDirection(members);
    if (members.length < this.#trigger.count || direction === null) return NO_EVENTS;
    for (const { id } of members) this.#togetherMs.delete(id);
    this.#formed += 1;
    const one = {
      ...{ number: this.#formed, formedMs: timeMs, notifiedMs: timeMs, direction, members: order(members, direction) },
      ...{ apartMs: new Map(), besideMs: new Map() },
    };
    this.#convoys = [...this.#convoys, one];
    return [describe("triggered", one)];
  }

  /** Whether the vehicle has been in `sinceMs` for long enough; adds it. */
  #isFor(sinceMs: Map<number, number>, { id }: Vehicle, timeMs: number): boolean {
    const since = sinceMs.get(id) ?? timeMs;
    sinceMs.set(id, since);
    return timeMs - since >= this.#trigger.for_seconds * 1000;
  }
}

/** The members by group: the largest part first, and of equal ones that with the head. */
function partsOf(members: readonly Member[], groups: Groups): Groups {
  const parts = groups.map((group) => members.filter((member) => group.includes(member)));
  const headOf = ([first]: readonly Member[]): number => members.findIndex(({ id }) => id === first?.id);
  return parts.filter(({ length }) => length > 0).sort((a, b) => b.length - a.length || headOf(a) - headOf(b));
}

function forgetOthers(sinceMs: Map<number, number>, vehicles: readonly Vehicle[]): void {
  for (const id of sinceMs.keys()) if (!vehicles.some((vehicle) => vehicle.id === id)) sinceMs.delete(id);
}

const idsOf = (vehicles: readonly Vehicle[]): readonly number[] => vehicles.map(({ id }) => id);
const tenths = (value: number): number => Math.round(value * 10) / 10;

function describe(event: RuleMatch["event"], { members, ...one }: Convoy, change: JsonRecord = {}): RuleMatch {
  const gaps = members.slice(1).map((member, i) => distanceM(members[i] ?? member, member));
  const speeds = members.flatMap(({ speedMps }) => speedMps ?? []);
  const data = {
    convoy: one.number,
    since: new Date(one.formedMs).toISOString(),
    head: members[0]?.id ?? null,
    members: idsOf(members.slice(0, MAX_LISTED)),
    gaps_m: gaps.slice(0, MAX_LISTED).map(tenths),
    length_m: tenths(gaps.reduce((sum, gap) => sum + gap, 0)),
    speed_mps: speeds.length === 0 ? null : tenths(speeds.reduce((sum, each) => sum + each, 0) / speeds.length),
    ...change,
  };
  return { event, sightings: members.slice(0, MAX_LISTED).map(({ sighting }) => sighting), data };
}
