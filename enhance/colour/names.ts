/** Common colour names for cars and clothes, with samples in light and in shade. */
import { differenceOf, type Lab, toLab } from "./lab.ts";

const SAMPLES = {
  black: "08080a 1c1c1e 181a22 242222",
  grey: "3e3e40 545557 6a6b6e 7e7f82 60646e 6c6864",
  silver: "949699 a8aaad babcc0 a0a6ae",
  white: "d0d0d2 e4e4e4 f5f5f5 ffffff d6dce6",
  red: "c8141e 960f19 6e121c 4e121a e13c37 b43237 822d34 eb230f 76282c 582a24",
  orange: "f07814 d25f19 ff9632 b9641e 964e10 763a0c e18c3c",
  yellow: "fad21e e1b914 ffeb5a c3a528 f0dc78",
  beige: "d7c8aa beae8e e2d6bc a6967a",
  brown: "5c3e2a 785238 422e24 8c6a50 685442",
  green: "1e7832 144828 5aa050 82be3c 32543c 546e46 142e20",
  turquoise: "32aaaa 1e767a 6ec8c3 5a9696",
  blue: "1e3c96 142250 3c6ebe 6ea0d2 243264 465c84 161c38 0c1222 2846b4 5082aa b9d0dc 96b9ca 263242 364054",
  purple: "5a2878 7a4896 3a204e 966eb4",
  pink: "ec82aa e65a96 f5b6c4 dc788c",
} as const;

export type ColourName = keyof typeof SAMPLES;
export const COLOUR_NAMES = Object.keys(SAMPLES) as readonly ColourName[];

/** Without a hue; they differ in lightness only. */
const GREYS: readonly ColourName[] = ["black", "grey", "silver", "white"];

export const isGrey = (name: ColourName): boolean => GREYS.includes(name);

const known = COLOUR_NAMES.flatMap((name) =>
  SAMPLES[name].split(" ").map((hex) => {
    const [red = 0, green = 0, blue = 0] = Buffer.from(hex, "hex");
    return { name, lab: toLab([red, green, blue]) };
  }),
);

/** The closest of the names that fit. */
export function nameColour(lab: Lab, fits: (name: ColourName) => boolean = () => true): ColourName {
  let best: { readonly name: ColourName; readonly apart: number } = { name: "grey", apart: Number.POSITIVE_INFINITY };
  for (const sample of known.filter(({ name }) => fits(name))) {
    const apart = differenceOf(lab, sample.lab);
    if (apart < best.apart) best = { name: sample.name, apart };
  }
  return best.name;
}
