/**
 * Which setting to measure next. First the graph itself and every single change of it. Then combinations: a change is
 * expected to have the same effect on speed and quality in every setting, and those are measured that are expected to be
 * better than all measured ones in one of the two.
 */
import { type Floors, listShortfalls } from "../floors.ts";
import { isSame, type Knob, keyOf, ownSetting, type Setting } from "./knobs.ts";

/** Of a measured setting, or expected ones. */
export interface Point {
  readonly fps: number;
  /** From 0 to 1. */
  readonly quality: number;
}

export interface Measured extends Point {
  readonly setting: Setting;
}

export const listSingleChanges = (knobs: readonly Knob[]): readonly Setting[] => {
  const own = ownSetting(knobs);
  return [
    own,
    ...knobs.flatMap(({ name, values }) => values.slice(1).map((value): Setting => ({ ...own, [name]: value }))),
  ];
};

/** At least as good in both, and better in one. */
export const isBetter = (a: Point, b: Point): boolean =>
  a.fps >= b.fps && a.quality >= b.quality && (a.fps > b.fps || a.quality > b.quality);

/** Those that no other one is better than: the Pareto front, the fastest first. */
export const findFront = <T extends Point>(points: readonly T[]): readonly T[] =>
  points
    .filter((point) => !points.some((other) => isBetter(other, point)))
    .sort((a, b) => b.fps - a.fps || b.quality - a.quality);

/**
 * Null when no other combination is expected to be better. `tried` are the keys of all settings that were measured or
 * have failed; `measure` is the name of the quality in `floors`.
 */
export function chooseNext(
  knobs: readonly Knob[],
  measured: readonly Measured[],
  tried: ReadonlySet<string>,
  floors: Floors,
  measure: string,
): Setting | null {
  const expected = combine(knobs).flatMap((setting) => {
    if (tried.has(keyOf(setting))) return [];
    const point = predict(setting, knobs, measured);
    return point === null || measured.some((known) => isBetter(known, point)) ? [] : [{ setting, ...point }];
  });
  const [best] = expected.sort((a, b) => compareByFloors(a, b, floors, measure));
  return best?.setting ?? null;
}

function combine(knobs: readonly Knob[]): readonly Setting[] {
  return knobs.reduce<readonly Setting[]>(
    (settings, { name, values }) =>
      settings.flatMap((setting) => values.map((value) => ({ ...setting, [name]: value }))),
    [{}],
  );
}

/** Null when the effect of a change is not known, because it failed. */
function predict(setting: Setting, knobs: readonly Knob[], measured: readonly Measured[]): Point | null {
  const own = ownSetting(knobs);
  const find = (wanted: Setting) => measured.find((known) => keyOf(known.setting) === keyOf(wanted));
  const base = find(own);
  if (base === undefined) return null;
  let { fps, quality } = base;
  for (const { name } of knobs) {
    const value = setting[name] ?? null;
    if (isSame(value, own[name] ?? null)) continue;
    const changed = find({ ...own, [name]: value });
    if (changed === undefined) return null;
    fps *= changed.fps / base.fps;
    quality *= base.quality === 0 ? 1 : changed.quality / base.quality;
  }
  return { fps, quality: Math.min(1, quality) };
}

/** Those above the floors first; of them the best, of the others the nearest. */
export function compareByFloors(a: Point, b: Point, floors: Floors, measure: string): number {
  const [lackA, lackB] = [a, b].map((point) => lackOf(point, floors, measure)) as [number, number];
  return lackA - lackB || worthOf(b, floors) - worthOf(a, floors);
}

/** How far a point is below the floors, as a sum of shares. */
function lackOf({ fps, quality }: Point, floors: Floors, measure: string): number {
  const share = (value: number, name: string): number => {
    const least = floors.get(name);
    return least === undefined ? 0 : Math.max(0, 1 - value / least);
  };
  return share(fps, "fps") + share(quality, measure);
}

/** Where the speed is sufficient, quality counts; else speed. */
const worthOf = ({ fps, quality }: Point, floors: Floors): number => (floors.has("fps") ? quality : fps);

export const isAbove = (measures: Readonly<Record<string, number>>, floors: Floors): boolean =>
  listShortfalls(floors, measures).length === 0;
