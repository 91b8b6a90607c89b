/** Reads the number plate of a vehicle: finds text, keeps what looks like a plate, and believes what is read twice alike. */
import type { InferenceSession, Tensor } from "onnxruntime-node";
import { ModelFault } from "../../models/fault.ts";
import { loadOnnxruntime, openSession } from "../../models/onnxruntime.ts";
import { openPlates } from "../../models/plates.ts";
import type { Plate } from "../../schemas/enhancement.ts";
import { type Picture, resize } from "../picture.ts";
import { isPlateShaped, judgePlate } from "./judge-plate.ts";
import { type Line, readLine } from "./read-line.ts";
import { FINDING, type Planes, READING, straighten, toPlanes } from "./sample.ts";
import { findTextRegions, type TextRegion } from "./text-regions.ts";

/** Small pictures are enlarged to this for the network that finds: it misses letters of few pixels. */
const LONGEST_SIDE = 640;
const MOST_ENLARGED = 2;
/** Sides that the network takes. */
const STEP = 32;
const LINE_HEIGHT = 48;
const MOST_WIDTH = 480;
/**
 * How a line is cut out, by its height: as it was found; wider, so that a letter that was not found is seen and the two
 * disagree; and a little larger from a coarser picture.
 */
const CUTS = [
  { wider: 0, higher: 0, pixels: LINE_HEIGHT },
  { wider: 1.4, higher: 0.1, pixels: LINE_HEIGHT },
  { wider: 0.2, higher: 0.15, pixels: 32 },
] as const;
/** The longer side of a picture: a plate is a third of a car at most, and its letters a quarter of that. */
const LEAST_SIDE = 100;
const MOST_READ = 4;

type Run = (planes: Planes) => Promise<{ readonly data: Float32Array; readonly dims: readonly number[] }>;

export class PlateReader {
  readonly #find: Run;
  readonly #read: Run;

  constructor(find: Run, read: Run) {
    this.#find = find;
    this.#read = read;
  }

  /** Null: none that can be read. The surest, where there are several. */
  async read(picture: Picture): Promise<Plate | null> {
    if (Math.max(picture.width, picture.height) < LEAST_SIDE) return null;
    const regions = (await this.#findRegions(picture)).filter(isPlateShaped).slice(0, MOST_READ);
    const plates: Plate[] = [];
    for (const region of regions) {
      const plate = await this.#readRegion(picture, region);
      if (plate !== null) plates.push(plate);
    }
    return plates.sort((a, b) => b.confidence - a.confidence)[0] ?? null;
  }

  /** In pixels of the picture. */
  async #findRegions(picture: Picture): Promise<readonly TextRegion[]> {
    const longest = Math.max(picture.width, picture.height);
    const scale = Math.min(MOST_ENLARGED, LONGEST_SIDE / longest);
    const sized = resize(picture, toSide(picture.width * scale), toSide(picture.height * scale));
    const { data } = await this.#find(toPlanes(sized, sized.width, sized.height, FINDING));
    const [toX, toY] = [picture.width / sized.width, picture.height / sized.height];
    return findTextRegions(data, sized.width, sized.height).map((region) => ({
      ...region,
      ...{ centreX: region.centreX * toX, centreY: region.centreY * toY },
      ...{ width: region.width * toX, height: region.height * toY },
    }));
  }

  async #readRegion(picture: Picture, region: TextRegion): Promise<Plate | null> {
    const lines: (Line | null)[] = [];
    for (const { wider, higher, pixels } of CUTS) {
      const [width, height] = [region.width + wider * region.height, region.height * (1 + higher)];
      const level = straighten(picture, { ...region, width, height }, pixels, MOST_WIDTH);
      const scaled = resize(level, Math.round((level.width * LINE_HEIGHT) / pixels), LINE_HEIGHT);
      const padded = Math.max(LINE_HEIGHT, Math.ceil(scaled.width / 8) * 8);
      const { data, dims } = await this.#read(toPlanes(scaled, padded, LINE_HEIGHT, READING));
      const line = readLine(data, dims[2] ?? 1);
      // The others cannot agree with nothing.
      if (line === null) return null;
      lines.push(line);
    }
    return judgePlate(lines);
  }
}

const toSide = (pixels: number): number => Math.max(STEP, Math.round(pixels / STEP) * STEP);

/** Why there is none, where the networks are not installed. They are loaded when the first picture is looked at. */
export async function openPlateReader(): Promise<PlateReader | string> {
  try {
    const { finder, reader } = await openPlates();
    return new PlateReader(openLater(finder), openLater(reader));
  } catch (error) {
    if (error instanceof ModelFault) return error.message;
    throw error;
  }
}

/** Most reports show no vehicle that is near enough to have a plate. */
function openLater(file: string): Run {
  let opening: Promise<Run> | null = null;
  return async (planes) => {
    opening ??= open(file);
    return (await opening)(planes);
  };
}

async function open(file: string): Promise<Run> {
  const { Tensor: Values } = await loadOnnxruntime();
  const session = await openSession({ onnx: file, isConverted: false, threads: 1, providers: ["cpu"] });
  return runWith(session, Values);
}

function runWith(session: InferenceSession, Values: typeof Tensor): Run {
  const [input = "", output = ""] = [session.inputNames[0], session.outputNames[0]];
  return async ({ data, width, height }) => {
    const results = await session.run({ [input]: new Values("float32", data, [1, 3, height, width]) });
    const found = results[output];
    if (found === undefined || !(found.data instanceof Float32Array)) throw new Error("the network gives no numbers");
    return { data: found.data, dims: found.dims };
  };
}
