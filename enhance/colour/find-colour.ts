/**
 * The colour of the thing in the middle of a picture. Pixels of like colour are put together; those of the edge are taken
 * for what lies behind, and what looks the same counts for less. Then the names are counted, not the pixels: shade and
 * highlights of one paint have one name.
 */
import type { NamedColour } from "../../schemas/enhancement.ts";
import { type Picture, shrink } from "../picture.ts";
import { cluster } from "./clusters.ts";
import { chromaOf, hueCounts, type Lab, readLab, toRgb } from "./lab.ts";
import { type ColourName, isGrey, nameColour } from "./names.ts";

/** Where in the picture to look, and what there is besides paint. */
export interface Look {
  /** How much a pixel counts, by its place in fractions of the picture. */
  weigh(x: number, y: number): number;
  /** Glass, tyres and gaps are dark, whatever the paint. */
  readonly darkCounts: number;
}

/** The body of a vehicle: around the middle, rather lower than higher, where the windows are. */
export const VEHICLE: Look = {
  weigh: (x, y) => bell(x - 0.5, 0.24) * bell(y - 0.54, 0.22),
  darkCounts: 0.4,
};

/** Whatever there is in the middle. */
export const THING: Look = {
  weigh: (x, y) => bell(x - 0.5, 0.22) * bell(y - 0.5, 0.22),
  darkCounts: 1,
};

/** What somebody wears above and below the belt, of one who stands. */
export const UPPER_BODY: Look = { weigh: (x, y) => bell(x - 0.5, 0.13) * bell(y - 0.36, 0.08), darkCounts: 1 };
export const LOWER_BODY: Look = { weigh: (x, y) => bell(x - 0.5, 0.13) * bell(y - 0.66, 0.08), darkCounts: 1 };

const LONGEST_SIDE = 72;
const LEAST_SIDE = 8;
const CLUSTERS = 10;
/** Of the shorter side. */
const EDGE = 0.06;
/** Below this a colour is one of several, and no name is the name. */
const LEAST_SHARE = 0.22;
/** So much more than the next. */
const LEAST_LEAD = 1.2;
/** Degrees: shade and yellow light turn a hue by less. */
const SAME_HUE = 32;
/** Of what has no hue. The glass and the tyres of a white car are less. */
const MOSTLY = 0.6;
/** Of the score. */
const STRONGEST = 0.45;

interface Part {
  readonly lab: Lab;
  readonly name: ColourName;
  /** How much of the thing it is, all parts together 1. */
  readonly share: number;
  readonly score: number;
}

/** Null where nothing is clear. */
export function findColour(picture: Picture, look: Look): NamedColour | null {
  if (Math.min(picture.width, picture.height) < LEAST_SIDE) return null;
  const parts = findParts(shrink(picture, LONGEST_SIDE), look);
  const [greys, hues] = [parts.filter(({ name }) => isGrey(name)), parts.filter(({ name }) => !isGrey(name))];
  const group = findHue(hues);
  const [hueScore, greyScore] = [scoreOf(group), scoreOf(greys)];
  if (hueScore < greyScore)
    return hueScore * LEAST_LEAD > greyScore ? null : nameGroup(takePaint(greys), isGrey, lightnessOf);
  // Another hue that is as strong: it has two colours, and the name of one would mislead.
  const others = findHue(hues.filter((part) => !group.includes(part)));
  if (scoreOf(others) * LEAST_LEAD > hueScore) return null;
  return nameGroup(group, (name) => !isGrey(name), chromaOf);
}

/** Of what has no hue: where nearly all is black, that is the paint, and what is lighter are reflections in it. */
function takePaint(greys: readonly Part[]): readonly Part[] {
  const black = greys.filter(({ name }) => name === "black");
  return shareOf(black) > shareOf(greys) * MOSTLY ? black : greys;
}

/** The parts of like hue that count most together. */
function findHue(parts: readonly Part[]): readonly Part[] {
  const groups = parts.map(({ lab }) => parts.filter((other) => hueBetween(lab, other.lab) < SAME_HUE));
  return groups.reduce((best, group) => (scoreOf(group) > scoreOf(best) ? group : best), []);
}

/**
 * By its strongest part: what is weaker is shade, dirt or a reflection. `strength` is how light greys are, and how far
 * from grey the others.
 */
function nameGroup(
  parts: readonly Part[],
  fits: (name: ColourName) => boolean,
  strength: (lab: Lab) => number,
): NamedColour | null {
  const share = shareOf(parts);
  if (share < LEAST_SHARE) return null;
  const sorted = [...parts].sort((a, b) => strength(b.lab) - strength(a.lab));
  const enough = scoreOf(parts) * STRONGEST;
  const strong: Part[] = [];
  for (const part of sorted) if (scoreOf(strong) < enough) strong.push(part);
  const weight = shareOf(strong);
  const mean = [0, 1, 2].map(
    (i) => strong.reduce((sum, part) => sum + (part.lab[i] as number) * part.share, 0) / weight,
  );
  const lab = mean as unknown as Lab;
  return { name: nameColour(lab, fits), rgb: toRgb(lab), share: Math.round(share * 100) / 100 };
}

const shareOf = (parts: readonly Part[]): number => parts.reduce((sum, { share }) => sum + share, 0);
const scoreOf = (parts: readonly Part[]): number => parts.reduce((sum, { score }) => sum + score, 0);
const lightnessOf = ([lightness]: Lab): number => lightness;

/** In degrees. */
function hueBetween([, a, b]: Lab, [, otherA, otherB]: Lab): number {
  const turn = Math.abs(Math.atan2(b, a) - Math.atan2(otherB, otherA)) * (180 / Math.PI);
  return Math.min(turn, 360 - turn);
}

function findParts(picture: Picture, look: Look): readonly Part[] {
  const { width, height } = picture;
  const { centres, of } = cluster(readLab(picture), CLUSTERS);
  const edge = Math.max(1, Math.round(Math.min(width, height) * EDGE));
  const inside = new Float64Array(centres.length);
  const around = new Float64Array(centres.length);
  for (let y = 0, i = 0; y < height; y++)
    for (let x = 0; x < width; x++, i++) {
      const k = of[i] as number;
      inside[k] = (inside[k] as number) + look.weigh((x + 0.5) / width, (y + 0.5) / height);
      const isEdge = x < edge || y < edge || x >= width - edge || y >= height - edge;
      if (isEdge) around[k] = (around[k] as number) + 1;
    }
  const [insideAll, aroundAll] = [inside, around].map((all) => all.reduce((sum, one) => sum + one, 0)) as [
    number,
    number,
  ];
  const own = centres.map((_, k) => {
    const here = (inside[k] as number) / insideAll;
    const there = (around[k] as number) / aroundAll;
    return here === 0 ? 0 : here * (here / (here + there)) ** 2;
  });
  const all = own.reduce((sum, one) => sum + one, 0);
  return centres.map((lab, k) => {
    const share = all === 0 ? 0 : (own[k] as number) / all;
    const name = nameColour(lab);
    return { lab, name, share, score: share * countFor(name, lab, look) };
  });
}

/** Paint with a hue is paint; what has none may be glass, tyre, road or a reflection of the sky. */
function countFor(name: ColourName, lab: Lab, { darkCounts }: Look): number {
  if (isGrey(name)) return name === "black" ? darkCounts : 1;
  return 1 + Math.min(1, Math.max(0, chromaOf(lab) * hueCounts(lab[0]) - 12) / 25);
}

const bell = (offset: number, width: number): number => Math.exp(-(offset ** 2) / (2 * width ** 2));
