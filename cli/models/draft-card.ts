/** A card for an ONNX file, from what the model itself tells and what the command line adds. */
import { basename, resolve } from "node:path";
import { type Document, parseDocument, stringify } from "yaml";
import { LONGEST_NAME, type ModelCard } from "../../models/card.ts";
import { findFamilies } from "../../models/decode/families.ts";
import { DECODERS } from "../../models/decode/options.ts";
import { COCO } from "../../models/labels.ts";
import { UsageFault } from "../command.ts";
import { usualInput } from "./family-inputs.ts";
import type { Tensors } from "./onnx.ts";
import { describeTensor, findPicture, type Size } from "./picture-input.ts";

export interface Wishes {
  readonly name?: string | undefined;
  readonly about?: string | undefined;
  readonly licence?: string | undefined;
  readonly family?: (typeof DECODERS)[number] | undefined;
  readonly labels: ModelCard["labels"];
  readonly size?: Size | undefined;
}

/** Characters of the file's name in `about`, which has its own limit. */
const LONGEST_TITLE = 120;

/** YAML. Throws `UsageFault` when neither the model nor the wishes tell enough. */
export function draftCard(
  file: { readonly path: string; readonly sha256: string; readonly bytes: number },
  tensors: Tensors,
  wishes: Wishes,
): string {
  const model = wishes.name ?? nameAfter(file.path);
  const picture = findPicture(tensors.inputs, wishes.size);
  const family = wishes.family ?? guessFamily(picture, tensors, wishes.labels);
  return stringify({
    model,
    about: wishes.about ?? `${basename(file.path).slice(0, LONGEST_TITLE)}, imported.`,
    licence: wishes.licence ?? "unknown",
    sources: [{ path: resolve(file.path) }],
    sha256: file.sha256,
    bytes: file.bytes,
    input: { ...picture, ...usualInput(family, picture.type) },
    labels: wishes.labels,
    decoder: { family },
  });
}

/** As long as a name may be; what is left out at the end is no loss where --name gives another. */
export const nameAfter = (path: string): string =>
  basename(path)
    .replace(/\.[^.]*$/, "")
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-/, "")
    .slice(0, LONGEST_NAME)
    .replace(/-$/, "") || "model";

/** The only family that can read the outputs. */
function guessFamily(
  picture: ReturnType<typeof findPicture>,
  { outputs }: Tensors,
  labels: ModelCard["labels"],
): (typeof DECODERS)[number] {
  const classCount = labels === "coco" ? COCO.length : labels.length;
  const fitting = findFamilies({ input: picture, labels }, classCount, outputs);
  const [only] = fitting;
  if (only !== undefined && fitting.length === 1) return only;
  const which =
    fitting.length === 0
      ? `none fits ${classCount} labels; there are ${DECODERS.join(", ")}`
      : `${fitting.join(" and ")} would fit`;
  throw new UsageFault(
    `the outputs do not tell which decoder reads them: say it with --decoder (${which})\n` +
      outputs.map((tensor) => `  ${describeTensor(tensor)}`).join("\n"),
  );
}

/** Changes a card by `key.key=value` with values in YAML; comments stay. */
export function editCard(yaml: string, edits: readonly string[]): string {
  if (edits.length === 0) return yaml;
  const document = parseDocument(yaml);
  // What is wrong with it is told where it is read.
  if (document.errors.length > 0) return yaml;
  for (const edit of edits) applyEdit(document, edit);
  return document.toString({ lineWidth: 120 });
}

function applyEdit(document: Document, edit: string): void {
  const at = edit.indexOf("=");
  if (at < 1) throw new UsageFault(`--set is "${edit}"; expected KEY=VALUE, such as input.colours=bgr`);
  const value = parseDocument(edit.slice(at + 1));
  const [error] = value.errors;
  if (error !== undefined) throw new UsageFault(`--set ${edit}: the value is no YAML: ${error.message}`);
  try {
    document.setIn(edit.slice(0, at).split("."), value.toJS());
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new UsageFault(`--set ${edit}: the card has no place for it: ${reason}`, { cause });
  }
}
