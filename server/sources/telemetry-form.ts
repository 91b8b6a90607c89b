/** A telemetry file in a multipart form, with the fields that describe it. */
import type { IncomingMessage } from "node:http";
import type { Readable } from "node:stream";
import { NewTelemetryFile, TelemetryFileParameters } from "../../schemas/api/sources.ts";
import type { JsonRecord } from "../../schemas/json.ts";
import { invalidInput, ServiceError } from "../service-error.ts";
import { MAX_FILE_BYTES, readFormatName, type TelemetryUpload } from "../telemetry/import-file.ts";
import { checkBy } from "../validation.ts";
import { createParser, FILE_FIELD, invalid, readFileName, readForm } from "./upload-form.ts";

export type TelemetryGiven = TelemetryUpload;

const checkParameters = checkBy(TelemetryFileParameters);
const MOST_SECONDS = 1e6;

/** The file of a part, in memory: it is read as a whole. */
export class ReceivedTelemetry {
  readonly #chunks: Buffer[] = [];
  bytes = 0;
  /** Null before it begins. */
  file: { readonly name: string; readonly part: string } | null = null;

  /** Rejects with `body_too_large`. */
  async save(stream: Readable, name: string | undefined, part: string): Promise<void> {
    this.file = { name: readFileName(name), part };
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      this.bytes += chunk.length;
      if (this.bytes > MAX_FILE_BYTES)
        throw new ServiceError("body_too_large", {
          detail: `the telemetry file is larger than ${MAX_FILE_BYTES} bytes; send a part of it, or fewer samples per second`,
        });
      this.#chunks.push(chunk);
    }
  }

  join(): Buffer {
    return Buffer.concat(this.#chunks);
  }
}

/** Null: the form has no telemetry file. `prefix` of the names of its fields. Throws `invalid_input`. */
export function readTelemetryForm(
  received: ReceivedTelemetry,
  texts: ReadonlyMap<string, string>,
  prefix: string,
): TelemetryGiven | null {
  const { file } = received;
  if (file === null) return null;
  return {
    ...file,
    bytes: received.join(),
    format: readFormatName(texts.get(`${prefix}format`), `${prefix}format`),
    parameters: readParameters(texts.get(`${prefix}parameters`), `${prefix}parameters`),
    offsetSeconds: readOffset(texts.get(`${prefix}offset_seconds`), `${prefix}offset_seconds`),
  };
}

function readParameters(text: string | undefined, path: string): JsonRecord {
  if (text === undefined || text.trim() === "") return {};
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw invalid(path, 'is not valid JSON; expected an object such as {"sensor_hfov": 71.5, "sensor_vfov": 44}');
  }
  const faults = checkParameters(value);
  if (faults.length > 0) throw invalidInput(faults.map(({ path: at, message }) => ({ path: `${path}${at}`, message })));
  return value as JsonRecord;
}

function readOffset(text: string | undefined, path: string): number | null {
  if (text === undefined || text.trim() === "") return null;
  const seconds = Number(text);
  if (Number.isFinite(seconds) && Math.abs(seconds) <= MOST_SECONDS) return seconds;
  throw invalid(
    path,
    `is ${JSON.stringify(text.slice(0, 60))}; expected seconds from -${MOST_SECONDS} to ${MOST_SECONDS}`,
  );
}

interface FormLimits {
  readonly idleMs: number;
  readonly leastBytes: number;
}

/** A form with a telemetry file only. */
export async function receiveTelemetry(
  raw: IncomingMessage,
  limits: FormLimits,
  letContinue: () => void,
): Promise<TelemetryGiven> {
  const parser = createParser(raw);
  const received = new ReceivedTelemetry();
  letContinue();
  const { texts } = await readForm(raw, parser, {
    ...{ ...limits, form: NewTelemetryFile },
    savedBytes: () => received.bytes,
    save: (stream, name) => received.save(stream, name, FILE_FIELD),
  });
  const given = readTelemetryForm(received, texts, "");
  if (given === null) throw invalid(FILE_FIELD, "is missing; expected a telemetry file");
  return given;
}
