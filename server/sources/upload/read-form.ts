/** A multipart form with one file in it, whatever its part is called, read as it arrives. */
import type { IncomingMessage } from "node:http";
import type { Readable } from "node:stream";
import { Busboy, type BusboyInstance } from "@fastify/busboy";
import { ServiceError } from "../../service-error.ts";

/** All of the form but the file: boundaries, headers, small fields. */
export const FORM_BYTES = 2 ** 18;
/** More than can be on its way from the client to whoever takes the file. */
const UNDER_WAY_BYTES = 2 ** 20;
const FIELD_BYTES = 4096;
/** What the file is called where it has to be named; also without a file name, such a part is one. */
const FILE_FIELD = "file";

interface FormOptions {
  /** Within so long at least so much must come. */
  readonly idleMs: number;
  readonly leastBytes: number;
  /** Takes the file in. While it does not read, nothing is read from the client either. */
  take(file: Readable, name: string | undefined): Promise<void>;
  /** Bytes of the file so far, as `take` has counted them. */
  takenBytes(): number;
}

interface Form {
  readonly alias: string | null;
}

export type FormParser = BusboyInstance;

/** Rejects with the first thing that is wrong; nothing reads from the client or calls `take` after that. */
export function readForm(raw: IncomingMessage, parser: FormParser, options: FormOptions): Promise<Form> {
  return new Promise((resolve, reject) => {
    let alias: string | null = null;
    let file: Readable | null = null;
    let taking: Promise<void> = Promise.resolve();
    let received = 0;
    let isOver = false;
    const finish = (error: Error | null) => {
      if (isOver) return;
      isOver = true;
      clearTimeout(timer);
      raw.unpipe(parser);
      raw.off("data", count).off("close", onClose);
      if (error === null) return resolve({ alias });
      raw.pause();
      file?.destroy(error);
      parser.destroy();
      // Not before whoever takes the file has let go of it: what is cleared up behind must stay so.
      taking.catch(() => {}).finally(() => reject(error));
    };
    const timer = setTimeout(() => finish(tooSlow(options)), options.idleMs);
    let refreshedAt = 0;
    const count = (chunk: Buffer) => {
      received += chunk.length;
      if (received - refreshedAt >= options.leastBytes) {
        refreshedAt = received;
        timer.refresh();
      }
      if (received - options.takenBytes() > FORM_BYTES + UNDER_WAY_BYTES) finish(tooMuch());
    };
    const onClose = () => {
      if (!raw.complete) finish(malformed("the connection closed within the body"));
    };
    parser.on("file", (field: string | undefined, stream, name) => {
      // Told to whoever takes it; a stream that nobody takes must not end the server.
      stream.on("error", () => {});
      if (isOver) return void stream.resume();
      if (file !== null) {
        const message = "is a second file in the form; one video is registered at a time";
        return finish(invalid(field || FILE_FIELD, message));
      }
      file = stream;
      taking = options.take(stream, name);
      taking.catch(finish);
    });
    parser.on("field", (field, value, _, isCut) => {
      if (field !== "alias") return;
      if (isCut) finish(invalid("alias", "is longer than the 255 characters that it may have"));
      else alias = value;
    });
    for (const limit of ["partsLimit", "fieldsLimit", "filesLimit"] as const) parser.on(limit, () => finish(tooMuch()));
    parser.on("error", (error) => finish(malformed(error instanceof Error ? error.message : String(error))));
    parser.on("finish", () => {
      // All has come; the disk takes the time it takes.
      clearTimeout(timer);
      taking.then(() => finish(null), finish);
    });
    raw.on("data", count).on("close", onClose);
    raw.once("error", () => onClose());
    raw.pipe(parser);
    if (raw.destroyed) onClose();
  });
}

/** Throws when the headers announce no form that can be read. */
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
        field === FILE_FIELD || name !== undefined || mediaType === "application/octet-stream",
      limits: { fieldSize: FIELD_BYTES, fields: 50, files: 10, parts: 60, headerPairs: 50, headerSize: 16_384 },
    });
  } catch (error) {
    throw malformed(error instanceof Error ? error.message : String(error));
  }
}

export const invalid = (path: string, message: string): ServiceError =>
  new ServiceError("invalid_input", { detail: `${path} ${message}.`, errors: [{ path, message }] });

const malformed = (reason: string): ServiceError =>
  new ServiceError("malformed_request", { detail: `the form cannot be read: ${reason}` });
const tooMuch = (): ServiceError =>
  new ServiceError("body_too_large", { detail: "the form has too much in it besides the file" });
const tooSlow = ({ idleMs, leastBytes }: FormOptions): ServiceError =>
  new ServiceError("request_timeout", {
    detail: `less than ${leastBytes} bytes came within ${idleMs / 1000} s; send the video again`,
  });
