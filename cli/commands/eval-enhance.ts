import { statSync } from "node:fs";
import type { Readers } from "../../enhance/enhance-track.ts";
import { type Command, CommandFailure, EXIT, type Given, UsageFault } from "../command.ts";
import { writeText } from "../draw-svg.ts";
import { findPatches } from "../eval/enhance/clip-patches.ts";
import { cutPatches } from "../eval/enhance/coco-patches.ts";
import type { EvalPatch } from "../eval/enhance/patch.ts";
import { drawSheet, type Enhanced } from "../eval/enhance/sheet.ts";
import type { Wanted } from "../eval/enhance/wanted.ts";
import { Progress } from "../eval/progress.ts";
import { alignTable } from "../eval/table.ts";
import { expectRoom } from "../expect-room.ts";
import { loadKnowledge } from "../knowledge.ts";
import type { Terminal } from "../terminal.ts";

const CLASSES = ["car", "bus", "truck"];
const LEAST_PIXELS = 60;

export default {
  name: "eval enhance",
  about: "Says of objects in pictures and clips what the enhancement of a report would, on one sheet to judge by eye.",
  usage: "DIR|CLIP… [--sheet FILE.svg]",
  options: {
    sheet: { type: "string", value: "FILE.svg", about: "Draw every picture with its type, colour and plate." },
    classes: { type: "string", value: "NAMES", about: `What to look at; default: ${CLASSES.join(",")}.` },
    least: { type: "string", value: "PIXELS", about: `The longer side of a box, at least; default: ${LEAST_PIXELS}.` },
    model: { type: "string", value: "NAME", about: "Which model finds objects in clips; default: default." },
    json: { type: "boolean", about: "Print as JSON." },
  },
  notes:
    "DIR has images/ and instances.json, in COCO's format: its boxes are cut out as the element report does. A CLIP runs through the graph detect, and every track has the picture that its report would have. Plates are read where `models get plates` has put what reads them.",
  examples: ["eval enhance val2017 --sheet sheet.svg", "eval enhance street.mp4 --classes car,person --json"],
  async run(given, terminal) {
    if (given.positionals.length === 0)
      throw new UsageFault("expected a DIR with images/ and instances.json, or a CLIP");
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
  },
} satisfies Command;

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
