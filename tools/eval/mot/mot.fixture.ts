/** Folders of sequences for tests. */
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** The sequences of MOT15 that some machines have beside the checkout; they are not part of it. */
const MOT15 = fileURLToPath(new URL("../../../../shared/data/mot", import.meta.url));
export const mot15 = { folder: MOT15, skip: existsSync(MOT15) ? false : "needs the sequences of ../shared/data/mot" };

export interface MadeSequence {
  readonly info?: string;
  readonly gt?: string;
  readonly det?: string;
}

const INFO = "[Sequence]\nname=any\nframeRate=10\nseqLength=4\n";

/** One object that moves right by a pixel a frame, found in every frame. */
export const rows = (id: number, frames = 4): string =>
  Array.from({ length: frames }, (_, index) => `${index + 1},${id},${10 + index},20,30,60,1,-1,-1,-1\n`).join("");

export function makeSequence(folder: string, name: string, { info = INFO, gt, det }: MadeSequence = {}): void {
  mkdirSync(join(folder, name), { recursive: true });
  writeFileSync(join(folder, name, "seqinfo.ini"), info);
  writeFileSync(join(folder, name, "gt.txt"), gt ?? rows(1));
  writeFileSync(join(folder, name, "det.txt"), det ?? rows(-1));
}
