/** Common colour names for cars and clothes, with samples in light and in shade. */
import { differenceOf, type Lab, type Rgb, toLab } from "./lab.ts";

const SAMPLES = {
  black: [
    [8, 8, 10],
    [28, 28, 30],
    [24, 26, 34],
    [36, 34, 34],
  ],
  grey: [
    [62, 62, 64],
    [84, 85, 87],
    [106, 107, 110],
    [126, 127, 130],
    [96, 100, 110],
    [108, 104, 100],
  ],
  silver: [
    [148, 150, 153],
    [168, 170, 173],
    [186, 188, 192],
    [160, 166, 174],
  ],
  white: [
    [208, 208, 210],
    [228, 228, 228],
    [245, 245, 245],
    [255, 255, 255],
    [214, 220, 230],
  ],
  red: [
    [200, 20, 30],
    [150, 15, 25],
    [110, 18, 28],
    [78, 18, 26],
    [225, 60, 55],
    [180, 50, 55],
    [130, 45, 52],
    [235, 35, 15],
    [118, 40, 44],
    [88, 42, 36],
  ],
  orange: [
    [240, 120, 20],
    [210, 95, 25],
    [255, 150, 50],
    [185, 100, 30],
    [150, 78, 16],
    [118, 58, 12],
    [225, 140, 60],
  ],
  yellow: [
    [250, 210, 30],
    [225, 185, 20],
    [255, 235, 90],
    [195, 165, 40],
    [240, 220, 120],
  ],
  beige: [
    [215, 200, 170],
    [190, 174, 142],
    [226, 214, 188],
    [166, 150, 122],
  ],
  brown: [
    [92, 62, 42],
    [120, 82, 56],
    [66, 46, 36],
    [140, 106, 80],
    [104, 84, 66],
  ],
  green: [
    [30, 120, 50],
    [20, 72, 40],
    [90, 160, 80],
    [130, 190, 60],
    [50, 84, 60],
    [84, 110, 70],
    [20, 46, 32],
  ],
  turquoise: [
    [50, 170, 170],
    [30, 118, 122],
    [110, 200, 195],
    [90, 150, 150],
  ],
  blue: [
    [30, 60, 150],
    [20, 34, 80],
    [60, 110, 190],
    [110, 160, 210],
    [36, 50, 100],
    [70, 92, 132],
    [22, 28, 56],
    [12, 18, 34],
    [40, 70, 180],
    [80, 130, 170],
    [185, 208, 220],
    [150, 185, 202],
    [38, 50, 66],
    [54, 64, 84],
  ],
  purple: [
    [90, 40, 120],
    [122, 72, 150],
    [58, 32, 78],
    [150, 110, 180],
  ],
  pink: [
    [236, 130, 170],
    [230, 90, 150],
    [245, 182, 196],
    [220, 120, 140],
  ],
} as const satisfies Readonly<Record<string, readonly Rgb[]>>;

export type ColourName = keyof typeof SAMPLES;
export const COLOUR_NAMES = Object.keys(SAMPLES) as readonly ColourName[];

/** Without a hue; they differ in lightness only. */
const GREYS: readonly ColourName[] = ["black", "grey", "silver", "white"];

export const isGrey = (name: ColourName): boolean => GREYS.includes(name);

const known = COLOUR_NAMES.flatMap((name) => SAMPLES[name].map((rgb) => ({ name, lab: toLab(rgb) })));

/** The closest of the names that fit. */
export function nameColour(lab: Lab, fits: (name: ColourName) => boolean = () => true): ColourName {
  let best: { readonly name: ColourName; readonly apart: number } = { name: "grey", apart: Number.POSITIVE_INFINITY };
  for (const sample of known.filter(({ name }) => fits(name))) {
    const apart = differenceOf(lab, sample.lab);
    if (apart < best.apart) best = { name: sample.name, apart };
  }
  return best.name;
}
