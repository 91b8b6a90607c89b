/** What the picture of something that flies shows, whatever it is. */
import { cluster } from "./colour/clusters.ts";
import { chromaOf, type Lab, readLab } from "./colour/lab.ts";
import { type Picture, shrink } from "./picture.ts";

const LONGEST_SIDE = 48;
/** Of the shorter side. */
const EDGE = 0.08;
/** The sky has few colours, and none is dark unless all are. */
const SKY_COLOURS = 3;
const EVEN = 14;
const LONG = 1.8;

export interface AerialAttributes {
  readonly against_sky: boolean;
  /** Of the whole picture: what is seen from the front looks compact, however long it is. */
  readonly apparent_shape: "wide" | "tall" | "compact";
  readonly contrast: "darker" | "lighter" | "like";
}

/** Against what lies around it. */
export function describeFlying(picture: Picture): AerialAttributes {
  const small = shrink(picture, LONGEST_SIDE);
  const { width, height } = small;
  const lab = readLab(small);
  const edge = Math.max(1, Math.round(Math.min(width, height) * EDGE));
  const isEdge = (x: number, y: number) => x < edge || y < edge || x >= width - edge || y >= height - edge;
  const around = select(lab, width, isEdge);
  const middle = select(lab, width, (x, y) => Math.hypot(x / width - 0.5, y / height - 0.5) < 0.2);
  const behind = meanLightness(around);
  const difference = meanLightness(middle) - behind;
  const aspect = picture.width / picture.height;
  return {
    against_sky: isSky(around),
    apparent_shape: aspect > LONG ? "wide" : aspect < 1 / LONG ? "tall" : "compact",
    contrast: Math.abs(difference) < EVEN / 2 ? "like" : difference < 0 ? "darker" : "lighter",
  };
}

/** Even, and blue, grey or white: a wall is too, but nothing flies before walls for long. */
function isSky(lab: Float32Array): boolean {
  const { centres, of } = cluster(lab, SKY_COLOURS);
  const counts = centres.map((_, k) => of.reduce((sum, one) => sum + Number(one === k), 0));
  const large = centres.filter((_, k) => (counts[k] as number) > of.length * 0.1);
  const lights = large.map(([lightness]) => lightness);
  return Math.max(...lights) - Math.min(...lights) < EVEN * 2 && large.every(isSkyColour);
}

const isSkyColour = (lab: Lab): boolean => lab[0] > 30 && (chromaOf(lab) < 12 || (lab[2] < 0 && lab[1] < 12));

function select(lab: Float32Array, width: number, fits: (x: number, y: number) => boolean): Float32Array {
  const chosen: number[] = [];
  for (let i = 0; i < lab.length / 3; i++)
    if (fits(i % width, Math.floor(i / width)))
      chosen.push(lab[i * 3] as number, lab[i * 3 + 1] as number, lab[i * 3 + 2] as number);
  return Float32Array.from(chosen);
}

function meanLightness(lab: Float32Array): number {
  let sum = 0;
  for (let i = 0; i < lab.length; i += 3) sum += lab[i] as number;
  return lab.length === 0 ? 0 : sum / (lab.length / 3);
}
