/**
 * The colour of the object in the centre of an image. Pixels are clustered by colour; clusters that also occur at the edge
 * are probably background and count less. The result is the name with the highest score, because shade and highlights of
 * one paint share a name.
 */
import type { NamedColour } from "../../schemas/enhancement.ts";
import { type Picture, shrink } from "../picture.ts";
import { chromaOf, cluster, hueCounts, type Lab, readLab, toRgb } from "./lab.ts";
import { type ColourName, isGrey, nameColour } from "./names.ts";

/** Which part of the image counts, and how much dark parts do. */
interface ColourRegion {
  /** Weight of a pixel by its position in fractions of the image. */
  weigh(x: number, y: number): number;
  /** Weight of black: glass, tyres and gaps are dark whatever the paint. */
  readonly darkCounts: number;
}

/** The body of a vehicle: around the centre, rather below it because of the windows. */
export const VEHICLE: ColourRegion = {
  weigh: (x, y) => bell(x - 0.5, 0.24) * bell(y - 0.54, 0.22),
  darkCounts: 0.4,
};

/** Any object in the centre. */
export const OBJECT: ColourRegion = {
  weigh: (x, y) => bell(x - 0.5, 0.22) * bell(y - 0.5, 0.22),
  darkCounts: 1,
};

/** The clothes of a standing person above and below the belt. */
export const UPPER_BODY: ColourRegion = { weigh: (x, y) => bell(x - 0.5, 0.13) * bell(y - 0.36, 0.08), darkCounts: 1 };
export const LOWER_BODY: ColourRegion = { weigh: (x, y) => bell(x - 0.5, 0.13) * bell(y - 0.66, 0.08), darkCounts: 1 };

const LONGEST_SIDE = 72;
const LEAST_SIDE = 8;
const CLUSTERS = 10;
/** Width of the border, as a share of the shorter side. */
const EDGE = 0.06;
/** A colour with a smaller share is one of several, and none is reported. */
const LEAST_SHARE = 0.22;
/** Minimum factor between the best score and the next. */
const LEAST_LEAD = 1.2;
/** Degrees: shade and yellow light shift a hue by less. */
const SAME_HUE = 32;
/** Minimum share of black among the greys for black paint; glass and tyres of a white car have less. */
const MOSTLY = 0.6;
/** Share of the score from which the colour is averaged. */
const STRONGEST = 0.45;

interface Part {
  readonly lab: Lab;
  readonly name: ColourName;
  /** Share of the object; all parts sum to 1. */
  readonly share: number;
  readonly score: number;
}

/** Null if no colour is clear. */
export function findColour(picture: Picture, region: ColourRegion): NamedColour | null {
  if (Math.min(picture.width, picture.height) < LEAST_SIDE) return null;
  const parts = findParts(shrink(picture, LONGEST_SIDE), region);
  const [greys, hues] = [parts.filter(({ name }) => isGrey(name)), parts.filter(({ name }) => !isGrey(name))];
  const group = findHue(hues);
  const [hueScore, greyScore] = [scoreOf(group), scoreOf(greys)];
  if (hueScore < greyScore)
    return hueScore * LEAST_LEAD > greyScore ? null : nameGroup(takePaint(greys), isGrey, lightnessOf);
  // A second hue of similar strength: the object has two colours, and one name would be misleading.
  const others = findHue(hues.filter((part) => !group.includes(part)));
  if (scoreOf(others) * LEAST_LEAD > hueScore) return null;
  return nameGroup(group, (name) => !isGrey(name), chromaOf);
}

/** If nearly all greys are black, black is the paint and lighter parts are reflections. */
function takePaint(greys: readonly Part[]): readonly Part[] {
  const black = greys.filter(({ name }) => name === "black");
  return shareOf(black) > shareOf(greys) * MOSTLY ? black : greys;
}

/** The group of parts of similar hue with the highest score. */
function findHue(parts: readonly Part[]): readonly Part[] {
  const groups = parts.map(({ lab }) => parts.filter((other) => hueBetween(lab, other.lab) < SAME_HUE));
  return groups.reduce((best, group) => (scoreOf(group) > scoreOf(best) ? group : best), []);
}

/**
 * Named by its strongest parts: weaker ones are shade, dirt or reflections. `strength` is the lightness of greys and the
 * chroma of other colours.
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

function findParts(picture: Picture, region: ColourRegion): readonly Part[] {
  const { width, height } = picture;
  const { centres, of } = cluster(readLab(picture), CLUSTERS);
  const edge = Math.max(1, Math.round(Math.min(width, height) * EDGE));
  const inside = new Float64Array(centres.length);
  const around = new Float64Array(centres.length);
  for (let y = 0, i = 0; y < height; y++)
    for (let x = 0; x < width; x++, i++) {
      const k = of[i] as number;
      inside[k] = (inside[k] as number) + region.weigh((x + 0.5) / width, (y + 0.5) / height);
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
    return { lab, name, share, score: share * weightOf(name, lab, region) };
  });
}

/** A hue is certainly paint; grey may also be glass, tyre, road or a reflection of the sky. */
function weightOf(name: ColourName, lab: Lab, { darkCounts }: ColourRegion): number {
  if (isGrey(name)) return name === "black" ? darkCounts : 1;
  return 1 + Math.min(1, Math.max(0, chromaOf(lab) * hueCounts(lab[0]) - 12) / 25);
}

const bell = (offset: number, width: number): number => Math.exp(-(offset ** 2) / (2 * width ** 2));
