/** JSON bodies: bounded in bytes and time, and sound enough to be stored anywhere. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { ServiceError } from "../service-error.ts";
import { hasTooManyValues, TOO_MANY_VALUES } from "./sound-values.ts";

const JSON_TYPE = /^application\/(?:[a-z0-9.+-]+\+)?json$/i;

/** Parsing and checking a larger body takes milliseconds: that is scheduled as an expensive task. */
const LARGE_BYTES = 16_384;

export interface BodyLimits {
  readonly bytes: number;
  readonly seconds: number;
}

interface JsonLimits extends BodyLimits {
  waitUntilScheduled(): Promise<void>;
}

/** Undefined when there is none. */
export async function readJson(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  limits: JsonLimits,
  isOptional: boolean,
): Promise<unknown> {
  if (!isOptional) expectJsonType(incoming);
  expectSize(incoming, limits);
  letContinue(incoming, outgoing);
  const bytes = await readBytes(incoming, limits);
  if (bytes.length === 0) {
    if (isOptional) return undefined;
    throw new ServiceError("malformed_json", { detail: "The body is empty; expected a JSON value." });
  }
  if (isOptional) expectJsonType(incoming);
  if (bytes.length > LARGE_BYTES) {
    if (hasTooManyValues(bytes)) throw tooManyValues();
    await limits.waitUntilScheduled();
  }
  return parseJson(bytes);
}

/** Throws `body_too_large` where the headers tell already. */
export function expectSize({ headers }: IncomingMessage, { bytes }: BodyLimits): void {
  if (Number(headers["content-length"] ?? 0) > bytes) throw tooLarge(bytes);
}

/** Answers `Expect: 100-continue`, once what can be refused without the body has been refused. */
export function letContinue(incoming: IncomingMessage, outgoing: ServerResponse): void {
  if (incoming.headers.expect?.toLowerCase() === "100-continue") outgoing.writeContinue();
}

function expectJsonType({ headers }: IncomingMessage): void {
  const [type = "", ...parameters] = (headers["content-type"] ?? "application/json").split(";");
  const encoding = headers["content-encoding"] ?? "identity";
  const charset = parameters.map((text) => /^charset\s*=\s*"?([^"\s]*)"?$/i.exec(text.trim())?.[1]).find(Boolean);
  const refuse = (what: string, expected: string) =>
    new ServiceError("media_type_unsupported", { detail: `The ${what}; expected ${expected}.` });
  if (!JSON_TYPE.test(type.trim())) throw refuse(`body is declared as "${type.trim()}"`, "application/json");
  if (charset !== undefined && !/^utf-?8$/i.test(charset))
    throw refuse(`body is declared to be in ${charset}`, "UTF-8");
  if (encoding.toLowerCase() !== "identity") throw refuse(`body is encoded with ${encoding}`, "it as it is");
}

/** Rejects with `body_too_large`, `request_timeout`, or `malformed_request` for a connection that closes. */
export function readBytes(incoming: IncomingMessage, { bytes: most, seconds }: BodyLimits): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const finish = (error: Error | null) => {
      clearTimeout(timer);
      incoming.off("data", onData).off("end", onEnd).off("close", onClose);
      if (error === null) return resolve(Buffer.concat(chunks, size));
      incoming.pause();
      reject(error);
    };
    const onData = (chunk: Buffer) => {
      size += chunk.length;
      chunks.push(chunk);
      if (size > most) finish(tooLarge(most));
    };
    const onEnd = () => finish(null);
    const onClose = () =>
      finish(new ServiceError("malformed_request", { detail: "The connection closed within the body." }));
    const timer = setTimeout(() => finish(tooSlow(seconds)), seconds * 1000);
    incoming.on("data", onData).on("end", onEnd).on("close", onClose);
  });
}

const tooLarge = (most: number) =>
  new ServiceError("body_too_large", { detail: `The body has more than the ${most} bytes that it may have.` });
const tooManyValues = () =>
  new ServiceError("invalid_input", {
    detail: `The body ${TOO_MANY_VALUES}.`,
    errors: [{ path: "", message: TOO_MANY_VALUES }],
  });
const tooSlow = (seconds: number) =>
  new ServiceError("request_timeout", { detail: `The body had not arrived after ${seconds} s.` });

const decoder = new TextDecoder("utf-8", { fatal: true });

export function parseJson(bytes: Buffer): unknown {
  let text: string;
  try {
    text = decoder.decode(bytes);
  } catch (cause) {
    throw new ServiceError("malformed_json", { detail: "The body is not in UTF-8.", cause });
  }
  try {
    return JSON.parse(text);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new ServiceError("malformed_json", { detail: `The body is no JSON: ${reason}.`, cause });
  }
}
