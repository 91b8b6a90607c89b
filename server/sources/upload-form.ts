/** Multipart forms with a file, such as a video, and maybe a second one, read as they arrive. */
import type { IncomingMessage } from "node:http";
import type { Readable } from "node:stream";
import { Busboy, type BusboyInstance } from "@fastify/busboy";
import type { TObject } from "typebox";
import { listChoices } from "../../schemas/bounded-check.ts";
import { didYouMean } from "../../schemas/suggest.ts";
import { invalidInput, ServiceError } from "../service-error.ts";

/** Everything but the file: boundaries, headers, small fields. */
export const FORM_BYTES = 2 ** 18;
/** More than is buffered between the client and the disk. */
const BUFFERED_BYTES = 2 ** 20;
const FIELD_BYTES = 4096;
/** The documented names of parts that are files. A part with such a name is a file even without a file name. */
export const FILE_FIELD = "file";
export const TELEMETRY_FIELD = "telemetry";
export const CARD_FIELD = "card";
const FILE_FIELDS = [FILE_FIELD, TELEMETRY_FIELD, CARD_FIELD];

interface FormOptions {
  /** At least `leastBytes` must arrive within this time. */
  readonly idleMs: number;
  readonly leastBytes: number;
  /** Of the form; others are rejected. */
  readonly form: TObject;
  /** Saves the file. While it does not read, nothing is read from the client. */
  save(file: Readable, name: string | undefined): Promise<void>;
  /** What the file is, in messages. Default: `video`. */
  readonly what?: string;
  /** The same for a part of this name, where the form may have one. */
  readonly second?: {
    readonly field: string;
    readonly what: string;
    save(file: Readable, name: string | undefined): Promise<void>;
  };
  /** Bytes of the files saved so far. */
  savedBytes(): number;
}

export type FormParser = BusboyInstance;

interface FormFields {
  readonly alias: string | null;
  readonly loop: boolean;
  /** The other fields that are texts. */
  readonly texts: ReadonlyMap<string, string>;
}

/** Rejects with the first fault; after that nothing is read from the client and `save` is not called. */
export function readForm(raw: IncomingMessage, parser: FormParser, options: FormOptions): Promise<FormFields> {
  return new Promise((resolve, reject) => {
    let alias: string | null = null;
    let loop = false;
    const texts = new Map<string, string>();
    const files = new Map<string, Readable>();
    let saving: Promise<void> = Promise.resolve();
    let received = 0;
    let isOver = false;
    const finish = (error: Error | null) => {
      if (isOver) return;
      isOver = true;
      clearTimeout(timer);
      raw.unpipe(parser);
      raw.off("data", count).off("close", onClose);
      if (error === null) return resolve({ alias, loop, texts });
      raw.pause();
      for (const file of files.values()) file.destroy(error);
      parser.destroy();
      // Only after `save` has closed the file: the caller removes it.
      saving.catch(() => {}).finally(() => reject(error));
    };
    const timer = setTimeout(() => finish(tooSlow(options)), options.idleMs);
    let refreshedAt = 0;
    const count = (chunk: Buffer) => {
      received += chunk.length;
      if (received - refreshedAt >= options.leastBytes) {
        refreshedAt = received;
        timer.refresh();
      }
      if (received - options.savedBytes() > FORM_BYTES + BUFFERED_BYTES) finish(tooMuch());
    };
    const onClose = () => {
      if (!raw.complete) finish(malformed("the connection closed within the body"));
    };
    parser.on("file", (field: string | undefined, stream, name) => {
      // `save` gets it, too; a stream without a listener would end the server.
      stream.on("error", () => {});
      if (isOver) return void stream.resume();
      const second = field === options.second?.field ? options.second : undefined;
      const kind = second?.field ?? FILE_FIELD;
      if (files.has(kind)) {
        const message = `is a second file in the form; expected one ${second?.what ?? options.what ?? "video"}`;
        return finish(invalid(field || FILE_FIELD, message));
      }
      files.set(kind, stream);
      const saved = (second ?? options).save(stream, name);
      saving = Promise.all([saving, saved]).then(() => {});
      saving.catch(finish);
    });
    const known = Object.keys(options.form.properties);
    parser.on("field", (field, value, _, isCut) => {
      if (!known.includes(field)) return finish(invalid(field, describeUnknown(field, known)));
      if (field === "alias") {
        if (isCut) finish(invalid("alias", "is longer than 255 characters"));
        else alias = value;
      }
      if (field !== "alias" && field !== "loop") {
        if (isCut) finish(invalid(field, `is longer than ${FIELD_BYTES} bytes`));
        else texts.set(field, value);
      }
      if (field !== "loop") return;
      if (value === "true" || value === "false") loop = value === "true";
      else finish(invalid("loop", `is ${JSON.stringify(value.slice(0, 100))}; expected true or false`));
    });
    for (const limit of ["partsLimit", "fieldsLimit", "filesLimit"] as const) parser.on(limit, () => finish(tooMuch()));
    parser.on("error", (error) => finish(malformed(error instanceof Error ? error.message : String(error))));
    parser.on("finish", () => {
      // Everything has arrived; writing to disk has no time limit.
      clearTimeout(timer);
      saving.then(() => finish(null), finish);
    });
    raw.on("data", count).on("close", onClose);
    raw.once("error", () => onClose());
    raw.pipe(parser);
    if (raw.destroyed) onClose();
  });
}

const describeUnknown = (field: string, known: readonly string[]): string =>
  `is not a field of this form; expected ${listChoices(known)}${didYouMean(field, known)}`;

/** Throws if the headers do not announce a multipart form. */
export function createParser({ headers }: IncomingMessage): FormParser {
  const type = headers["content-type"] ?? "";
  if (!/^multipart\/form-data\s*(;|$)/i.test(type)) {
    const found = type === "" ? "has no media type" : `is declared as "${type.split(";")[0]}"`;
    throw new ServiceError("media_type_unsupported", { detail: `the body ${found}; expected multipart/form-data` });
  }
  try {
    return new Busboy({
      headers: { ...headers, "content-type": type },
      isPartAFile: (field, mediaType, name) =>
        FILE_FIELDS.includes(field ?? "") || name !== undefined || mediaType === "application/octet-stream",
      limits: { fieldSize: FIELD_BYTES, fields: 50, files: 10, parts: 60, headerPairs: 50, headerSize: 16_384 },
    });
  } catch (error) {
    throw malformed(error instanceof Error ? error.message : String(error));
  }
}

export const invalid = (path: string, message: string) => invalidInput([{ path, message }]);

const malformed = (reason: string): ServiceError =>
  new ServiceError("malformed_request", { detail: `the form cannot be read: ${reason}` });
const tooMuch = (): ServiceError =>
  new ServiceError("body_too_large", { detail: "the form has too much data besides the file" });
const tooSlow = ({ idleMs, leastBytes }: FormOptions): ServiceError =>
  new ServiceError("request_timeout", {
    detail: `less than ${leastBytes} bytes arrived within ${idleMs / 1000} s; send the file again`,
  });

const EXTENSIONS = ["mp4", "mov", "avi", "ts", "mkv", "webm"] as const;
const MAX_NAME_CHARACTERS = 255;

/** The file name given by the client: shown, and used for its extension; never a path. */
export interface VideoName {
  /** Safe to show and to store. */
  readonly shown: string;
  readonly extension: (typeof EXTENSIONS)[number];
}

/** Throws for a name without a supported extension. */
export function readVideoName(given: string | undefined): VideoName {
  const shown = cleanName(given ?? "");
  const found = /\.([a-z0-9]+)$/i.exec(shown)?.[1]?.toLowerCase();
  const extension = EXTENSIONS.find((known) => known === found);
  if (extension !== undefined) return { shown, extension };
  throw invalid(
    "file",
    `is named ${JSON.stringify(shown.slice(0, 100))}; expected a name that ends in .mp4, .mov, .avi, .ts, .mkv or .webm`,
  );
}

/** The name of a telemetry file: only shown. */
export const readFileName = (given: string | undefined): string => cleanName(given ?? "") || TELEMETRY_FIELD;

/** The last part of a path of any system, without invisible characters. A long name loses its beginning. */
function cleanName(given: string): string {
  const [last = ""] = given.split(/[/\\]/).slice(-1);
  const visible = last.replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu, "").trim();
  return [...visible].slice(-MAX_NAME_CHARACTERS).join("");
}
