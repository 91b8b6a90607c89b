import { statSync } from "node:fs";
import { CommandFailure, EXIT, type Given, UsageFault } from "../../cli/command.ts";
import { loadKnowledge } from "../../cli/compile-graph.ts";
import { expectRoom, writeText } from "../../cli/files.ts";
import { Progress } from "../../cli/progress.ts";
import { label, page } from "../../cli/svg.ts";
import type { Terminal } from "../../cli/terminal.ts";
import { alignTable } from "../../cli/text.ts";
import type { Readers } from "../../enhance/enhance-track.ts";
import type { EnhancedData, NamedColour } from "../../schemas/enhancement.ts";
import { cutPatches, type EvalPatch, findPatches, type Wanted } from "./enhance/patches.ts";

const CLASSES = ["car", "bus", "truck"];
const LEAST_PIXELS = 60;

export async function evalEnhance(given: Given, terminal: Terminal): Promise<number> {
  if (given.positionals.length === 0) throw new UsageFault("missing: a DIR with images/ and instances.json, or a CLIP");
  const sheet = given.text("sheet");
  if (sheet !== undefined) expectRoom("sheet", sheet);
  const patches = await gather(given, terminal);
  if (patches.length === 0) throw new CommandFailure("no objects found; change --classes or --least");
  const enhanced = await enhance(patches, terminal);
  if (sheet !== undefined) await writeText(sheet, drawSheet(`${enhanced.length} objects`, enhanced));
  await terminal.print(
    given.flag("json")
      ? JSON.stringify(
          enhanced.map(({ name, className, data }) => ({ name, className, ...data })),
          null,
          2,
        )
      : format(enhanced, terminal.paintOut),
  );
  return EXIT.ok;
}

async function gather(given: Given, terminal: Terminal): Promise<readonly EvalPatch[]> {
  const wanted: Wanted = {
    classNames: given.text("classes")?.split(",") ?? CLASSES,
    leastPixels: given.number("least", "any") ?? LEAST_PIXELS,
  };
  const model = given.text("model") ?? "default";
  const patches: EvalPatch[] = [];
  for (const place of given.positionals) {
    const found = statSync(place, { throwIfNoEntry: false });
    if (found === undefined) throw new CommandFailure(`there is no file or folder ${place}`);
    patches.push(
      ...(found.isDirectory()
        ? cutPatches(place, wanted)
        : await findPatches(place, model, wanted, await loadKnowledge(terminal))),
    );
  }
  return patches;
}

async function enhance(patches: readonly EvalPatch[], terminal: Terminal): Promise<readonly Enhanced[]> {
  const [{ enhanceTrack }, { openPlateReader }] = await Promise.all([
    import("../../enhance/enhance-track.ts"),
    import("../../enhance/plate/plate-reader.ts"),
  ]);
  const reader = await openPlateReader();
  if (typeof reader === "string") terminal.say(`number plates are not read: ${reader}`);
  const readers: Readers = typeof reader === "string" ? {} : { readPlate: (picture) => reader.read(picture) };
  const progress = new Progress(terminal, "objects");
  const enhanced: Enhanced[] = [];
  for (const [index, patch] of patches.entries()) {
    progress.show(index, patches.length, patch.name);
    enhanced.push({ ...patch, data: await enhanceTrack({ id: index + 1, ...patch }, readers) });
  }
  progress.end();
  return enhanced;
}

function format(enhanced: readonly Enhanced[], paint: Terminal["paintOut"]): string {
  const rows = enhanced.map(({ name, className, data: { vehicle_type, colour, plate } }) => [
    name,
    vehicle_type ?? className,
    colour === null ? "-" : `${colour.name} ${Math.round(colour.share * 100)} %`,
    plate === null ? "-" : `${plate.text} ${plate.confidence} %`,
  ]);
  return alignTable(["object", "type", "colour", "plate"], rows, paint);
}

export interface Enhanced extends EvalPatch {
  readonly data: EnhancedData;
}

const ABREAST = 5;
const CELL = { width: 240, height: 262 };
const PICTURE = { width: 224, height: 168 };
const HEAD = 34;

export function drawSheet(title: string, enhanced: readonly Enhanced[]): string {
  const rows = Math.ceil(enhanced.length / ABREAST);
  return page(ABREAST * CELL.width, HEAD + rows * CELL.height + 10, [
    label(12, 22, title, { bold: true }),
    ...enhanced.flatMap((one, index) =>
      drawCell(one, (index % ABREAST) * CELL.width + 8, HEAD + Math.floor(index / ABREAST) * CELL.height),
    ),
  ]);
}

function drawCell({ name, className, jpeg, data }: Enhanced, x: number, y: number): readonly string[] {
  const { vehicle_type: type, colour, plate, attributes } = data;
  const below = y + PICTURE.height;
  return [
    `<image x="${x}" y="${y}" width="${PICTURE.width}" height="${PICTURE.height}" href="data:image/jpeg;base64,${jpeg}"/>`,
    label(x, below + 16, name, { size: 10 }),
    ...drawColour(colour, x, below + 22),
    label(
      x,
      below + 56,
      `${type ?? className}   plate: ${plate === null ? "none" : `${plate.text} ${plate.confidence} %`}`,
      {
        size: 11,
      },
    ),
    ...Object.entries(attributes).map(([key, value], line) =>
      label(x, below + 72 + line * 12, `${key}: ${describe(value)}`, { size: 10 }),
    ),
  ];
}

function drawColour(colour: NamedColour | null, x: number, y: number): readonly string[] {
  if (colour === null) return [label(x, y + 15, "colour: none", { size: 11 })];
  const { name, rgb, share } = colour;
  return [
    `<rect x="${x}" y="${y}" width="36" height="20" fill="rgb(${rgb.join(",")})" stroke="#888"/>`,
    label(x + 44, y + 15, `${name} ${Math.round(share * 100)} %`, { size: 12, bold: true }),
  ];
}

const describe = (value: unknown): string =>
  typeof value === "object" && value !== null && "name" in value ? String(value.name) : String(value);
