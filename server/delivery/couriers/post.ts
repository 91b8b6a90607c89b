/**
 * One POST to an address that a client has named. It goes to an address that was looked at and to no other, follows
 * nobody elsewhere, and takes neither longer nor more of the answer than it may.
 */
import { type Agent, type ClientRequest, type IncomingMessage, request as requestPlainly } from "node:http";
import { request as requestSecurely, type Agent as SecureAgent } from "node:https";
import { isIP } from "node:net";
import { answer } from "../../mqtt/broker-client.ts";
import { explainConnectionError } from "../../net/explain.ts";
import { guardAddress } from "../../net/guard.ts";
import { readAuthority } from "../../net/url.ts";
import type { CourierConfig } from "../courier.ts";

/** Why there was no answer, in words: of the receiver only the host and port are named. */
export class PostFault extends Error {
  /** A connection that was used before is closed by now: nobody has looked at the request. */
  readonly isStale: boolean;

  constructor(message: string, isStale = false) {
    super(message);
    this.isStale = isStale;
  }
}

/** A receiver whose address may be connected to. */
export interface Receiver {
  /** `https://host:port`, nothing secret. */
  readonly origin: string;
  readonly isSecure: boolean;
  readonly host: string;
  readonly port: number | null;
  readonly path: string;
  /** Decoded. */
  readonly user: { readonly name: string; readonly password: string } | null;
  readonly addresses: readonly string[];
}

export interface Post {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface PostNeeds {
  readonly config: CourierConfig["delivery"];
  readonly agent: Agent | SecureAgent;
  readonly signal: AbortSignal;
  readonly authorities?: string | undefined;
  /** How many bytes of the answer are of interest; what is beyond is left. */
  readonly answerBytes: number;
}

export interface Answer {
  readonly status: number;
  readonly headers: IncomingMessage["headers"];
  /** Its beginning, when there was more. */
  readonly body: Buffer;
  readonly isWhole: boolean;
}

/** Rejects with `PostFault`. */
export async function findReceiver(url: string, network: CourierConfig["network"]): Promise<Receiver> {
  const authority = readAuthority(url);
  if (typeof authority === "string") throw new PostFault(`the address cannot be used: ${authority}`);
  const { scheme, host, port, writtenHost, userinfo } = authority;
  const origin = `${scheme}://${writtenHost}${port === null ? "" : `:${port}`}`;
  if (scheme !== "http" && scheme !== "https")
    throw new PostFault(`${origin}: expected an address that begins with http:// or https://`);
  const addresses = await guardAddress(origin, network, "/notification_url").catch((error: Error) => {
    throw new PostFault(error.message);
  });
  if (addresses.length === 0) throw new PostFault(`${origin}: no host of the name ${host} can be found`);
  const { pathname, search } = new URL(url);
  return {
    ...{ origin, isSecure: scheme === "https", host, port, path: `${pathname}${search}`, addresses },
    user: userinfo === null ? null : readUser(userinfo),
  };
}

/** Rejects with `PostFault`. */
export function post(receiver: Receiver, sent: Post, needs: PostNeeds): Promise<Answer> {
  const { origin, isSecure, host, port, path, addresses } = receiver;
  const { config, agent, signal, authorities } = needs;
  const { connect_seconds, answer_seconds } = config;
  return new Promise((resolve, reject) => {
    let request: ClientRequest | null = null;
    let isSettled = false;
    const fail = (reason: string, isStale = false): void => {
      if (isSettled) return;
      settle();
      reject(new PostFault(`${origin}: ${reason}`, isStale));
      request?.destroy();
    };
    const breakOff = (): void => fail("it was broken off");
    const late = setTimeout(() => fail(`it did not answer within ${answer_seconds} s`), answer_seconds * 1000);
    const unreached = setTimeout(
      () => fail(`it could not be connected to within ${connect_seconds} s`),
      connect_seconds * 1000,
    );
    const settle = (): void => {
      isSettled = true;
      clearTimeout(late);
      clearTimeout(unreached);
      signal.removeEventListener("abort", breakOff);
    };
    if (signal.aborted) return breakOff();
    signal.addEventListener("abort", breakOff, { once: true });
    try {
      request = (isSecure ? requestSecurely : requestPlainly)({
        ...{ method: "POST", host, path, agent, lookup: answer(addresses), autoSelectFamily: true },
        ...(port !== null && { port }),
        ...(isSecure && isIP(host) === 0 && { servername: host }),
        ...(authorities !== undefined && { ca: authorities }),
        headers: { ...sent.headers, "content-length": Buffer.byteLength(sent.body) },
        maxHeaderSize: MOST_HEADER_BYTES,
      });
    } catch {
      return fail("the request cannot be written: an address or a token holds what has no place there");
    }
    const asked = request;
    asked.once("socket", (socket) => {
      if (asked.reusedSocket) return clearTimeout(unreached);
      socket.once(isSecure ? "secureConnect" : "connect", () => clearTimeout(unreached));
    });
    asked.on("error", (error) =>
      fail(
        explainConnectionError(error) ?? `it cannot be reached (${String((error as NodeJS.ErrnoException).code)})`,
        asked.reusedSocket && isReset(error),
      ),
    );
    asked.once("close", () => fail("it closed the connection without an answer"));
    asked.on("response", (response) => {
      const tell = (body: Buffer, isWhole: boolean): void => {
        if (isSettled) return;
        settle();
        clearTimeout(unfinished);
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body, isWhole });
        if (!isWhole) asked.destroy();
      };
      clearTimeout(late);
      const unfinished = setTimeout(() => tell(Buffer.alloc(0), false), READ_MS);
      readBeginning(response, needs.answerBytes, tell);
    });
    asked.end(sent.body);
  });
}

const MOST_HEADER_BYTES = 32_768;

const isReset = (error: Error): boolean => ["ECONNRESET", "EPIPE"].includes(String((error as { code?: unknown }).code));

/** For what follows the status: it has decided, and the rest is read so that the connection can be used again. */
const READ_MS = 2_000;

function readBeginning(response: IncomingMessage, most: number, tell: (body: Buffer, isWhole: boolean) => void): void {
  const chunks: Buffer[] = [];
  let bytes = 0;
  response.on("data", (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes <= most) return void chunks.push(chunk);
    tell(Buffer.concat(chunks), false);
  });
  response.on("end", () => tell(Buffer.concat(chunks), true));
  response.on("error", () => tell(Buffer.concat(chunks), false));
}

function readUser(userinfo: string): Receiver["user"] {
  const at = userinfo.indexOf(":");
  const [name, password] = at < 0 ? [userinfo, ""] : [userinfo.slice(0, at), userinfo.slice(at + 1)];
  return { name: decode(name), password: decode(password) };
}

/** As it stands there when it is no escape after all. */
function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

export const basicAuthorization = ({ name, password }: NonNullable<Receiver["user"]>): string =>
  `Basic ${Buffer.from(`${name}:${password}`).toString("base64")}`;
