/** A dataset in COCO's format: `images/` and `instances.json`. */
import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { Ajv, type ErrorObject } from "ajv";
import { type Static, Type } from "typebox";
import { CommandFailure } from "../../../cli/command.ts";

const Extent = Type.Number({ minimum: 0 });

const Instances = Type.Object({
  images: Type.Array(
    Type.Object({
      id: Type.Integer(),
      file_name: Type.String({ minLength: 1 }),
      width: Type.Integer({ minimum: 1 }),
      height: Type.Integer({ minimum: 1 }),
    }),
    { minItems: 1 },
  ),
  annotations: Type.Array(
    Type.Object({
      image_id: Type.Integer(),
      category_id: Type.Integer(),
      id: Type.Optional(Type.Integer()),
      bbox: Type.Tuple([Type.Number(), Type.Number(), Extent, Extent]),
      area: Type.Optional(Extent),
      iscrowd: Type.Optional(Type.Integer()),
    }),
  ),
  categories: Type.Array(Type.Object({ id: Type.Integer(), name: Type.String({ minLength: 1 }) }), { minItems: 1 }),
});

/** `[left, top, width, height]` in pixels. */
export type PixelBox = readonly [number, number, number, number];

export interface TrueObject {
  readonly className: string;
  readonly box: PixelBox;
  /** Area of the object if known, else of its box. */
  readonly area: number;
  /** A group that was not annotated individually: detections in it count neither way. */
  readonly isCrowd: boolean;
}

export interface Picture {
  readonly file: string;
  readonly width: number;
  readonly height: number;
  readonly truth: readonly TrueObject[];
}

export interface Dataset {
  readonly pictures: readonly Picture[];
  readonly classNames: readonly string[];
}

/** Throws `CommandFailure` for a missing or invalid file. */
export function readDataset(folder: string): Dataset {
  const file = join(folder, "instances.json");
  const { images, annotations, categories } = parseInstances(readText(folder, file), file);
  expectOnce(file, "images", "id", images);
  expectOnce(file, "images", "file_name", images);
  expectOnce(file, "annotations", "id", annotations);
  expectOnce(file, "categories", "id", categories);
  expectOnce(file, "categories", "name", categories);
  const names = new Map(categories.map(({ id, name }) => [id, name]));
  const byImage = new Map(images.map(({ id }) => [id, [] as TrueObject[]]));
  for (const [index, { image_id, category_id, bbox, area, iscrowd }] of annotations.entries()) {
    const className = names.get(category_id);
    const truth = byImage.get(image_id);
    if (className === undefined) throw dangling(file, index, "category", category_id);
    if (truth === undefined) throw dangling(file, index, "image", image_id);
    truth.push({ className, box: bbox, area: area ?? bbox[2] * bbox[3], isCrowd: iscrowd === 1 });
  }
  const pictures = images.map(({ id, file_name, width, height }) => {
    const truth = byImage.get(id) ?? [];
    return { file: join(folder, "images", file_name), width, height, truth };
  });
  expectFiles(pictures);
  return { pictures, classNames: [...names.values()] };
}

/** Duplicates would count twice, or hide each other. */
function expectOnce<Key extends string>(
  file: string,
  list: string,
  key: Key,
  entries: readonly { readonly [key in Key]?: string | number }[],
): void {
  const first = new Map<string | number, number>();
  for (const [index, { [key]: value }] of entries.entries()) {
    if (value === undefined) continue;
    const before = first.get(value);
    if (before !== undefined)
      throw new CommandFailure(
        `${file}: ${list}[${index}] has the ${key} ${JSON.stringify(value)}, as ${list}[${before}] has; expected each value once`,
      );
    first.set(value, index);
  }
}

const dangling = (file: string, index: number, what: string, id: number): CommandFailure =>
  new CommandFailure(`${file}: annotations[${index}] refers to ${what} ${id}, which the file does not have`);

function readText(folder: string, file: string): string {
  if (!existsSync(folder) || !statSync(folder).isDirectory())
    throw new CommandFailure(`there is no folder ${folder}; expected one with images/ and instances.json`);
  try {
    return readFileSync(file, "utf8");
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    const reason = code === "ENOENT" ? "there is no such file" : message;
    throw new CommandFailure(`${file} cannot be read: ${reason}; expected annotations in COCO's format`, {
      cause,
    });
  }
}

function parseInstances(text: string, file: string): Static<typeof Instances> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new CommandFailure(`${file} is not valid JSON: ${(cause as Error).message}`, { cause });
  }
  const check = new Ajv({ strict: false, logger: false }).compile<Static<typeof Instances>>(Instances);
  if (check(value)) return value;
  throw new CommandFailure(`${file} is not in COCO's format: ${describe(check.errors?.[0])}`);
}

/** `annotations[3].bbox must NOT have fewer than 4 items`. */
function describe(error: ErrorObject | undefined): string {
  const path = (error?.instancePath ?? "")
    .replace(/\/(\d+)/g, "[$1]")
    .replace(/\//g, ".")
    .replace(/^\./, "");
  return `${path === "" ? "it" : path} ${error?.message ?? "is wrong"}`;
}

const MOST_NAMED = 3;

function expectFiles(pictures: readonly Picture[]): void {
  const missing = pictures.filter(({ file }) => !existsSync(file)).map(({ file }) => file);
  if (missing.length === 0) return;
  const more = missing.length > MOST_NAMED ? ` and ${missing.length - MOST_NAMED} more` : "";
  throw new CommandFailure(
    `${missing.length} of ${pictures.length} images are missing: ${missing.slice(0, MOST_NAMED).join(", ")}${more}`,
  );
}
