import { statSync } from "node:fs";
import { CommandFailure, EXIT, type Given, UsageFault } from "../../cli/command.ts";
import { loadKnowledge } from "../../cli/compile-graph.ts";
import { expectRoom, writeText } from "../../cli/files.ts";
import { Progress } from "../../cli/progress.ts";
import type { Terminal } from "../../cli/terminal.ts";
import { alignTable } from "../../cli/text.ts";
import type { Readers } from "../../enhance/enhance-track.ts";
import { findPatches } from "./enhance/clip-patches.ts";
import { cutPatches } from "./enhance/coco-patches.ts";
import type { EvalPatch } from "./enhance/patch.ts";
import { drawSheet, type Enhanced } from "./enhance/sheet.ts";
import type { Wanted } from "./enhance/wanted.ts";

const CLASSES = ["car", "bus", "truck"];
const LEAST_PIXELS = 60;

export async function evalEnhance(given: Given, terminal: Terminal): Promise<number> {
  if (given.positionals.length === 0) throw new UsageFault("expected a DIR with images/ and instances.json, or a CLIP");
  const sheet = given.text("sheet");
  if (sheet !== undefined) expectRoom("sheet", sheet);
  const patches = await gather(given, terminal);
  if (patches.length === 0) throw new CommandFailure("there are no such objects; --classes and --least say which");
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
    if (found === undefined) throw new CommandFailure(`there is no ${place}`);
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
  if (typeof reader === "string") terminal.say(`plates are not read: ${reader}`);
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
