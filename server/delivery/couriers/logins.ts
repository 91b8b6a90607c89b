/** Tokens of receivers that want a login first: asked for at `auth_url`, kept while they are good. */
import { Agent } from "node:http";
import { Agent as SecureAgent } from "node:https";
import { readAuthority } from "../../net/url.ts";
import type { CourierConfig } from "../courier.ts";
import { basicAuthorization, findReceiver, PostFault, type PostNeeds, post, type Receiver } from "./post.ts";

export interface LoginNeeds {
  readonly config: CourierConfig;
  readonly softwareVersion: string;
  readonly authorities?: string;
}

interface Token {
  readonly text: string;
  readonly untilMs: number;
}

const MOST_TOKENS = 2_000;
/** Letters that a header takes, and no more than servers do. */
const TOKEN = /^[\x21-\x7e]{1,8192}$/;
/** Of the time that a token is said to be good for. */
const USED_SHARE = 0.9;

export class Logins {
  readonly #needs: LoginNeeds;
  /** By address, with its user, and for which hosts; the oldest first. */
  readonly #tokens = new Map<string, Token>();
  /** For logins whose token goes to another host. */
  readonly #publicNetwork: CourierConfig["network"];

  constructor(needs: LoginNeeds) {
    this.#needs = needs;
    this.#publicNetwork = { ...needs.config.network, allow: [] };
  }

  /**
   * For the receiver that it is sent to. A login that only this service can reach gives no token to another host: whoever
   * subscribes could read it there. Rejects with `PostFault`.
   */
  async token(authUrl: string, { host }: Pick<Receiver, "host">, signal: AbortSignal): Promise<string> {
    const key = keyOf(authUrl, host);
    const known = this.#tokens.get(key);
    if (known !== undefined && performance.now() < known.untilMs) return known.text;
    const network = isOn(authUrl, host) ? this.#needs.config.network : this.#publicNetwork;
    const token = await this.#ask(authUrl, network, signal).catch((error: unknown) => {
      throw error instanceof PostFault ? new PostFault(`the login failed: ${error.message}`) : error;
    });
    this.#tokens.delete(key);
    this.#tokens.set(key, token);
    const [oldest] = this.#tokens.keys();
    if (this.#tokens.size > MOST_TOKENS && oldest !== undefined) this.#tokens.delete(oldest);
    return token.text;
  }

  /** It was not taken. */
  forget(authUrl: string, { host }: Pick<Receiver, "host">): void {
    this.#tokens.delete(keyOf(authUrl, host));
  }

  async #ask(authUrl: string, network: CourierConfig["network"], signal: AbortSignal): Promise<Token> {
    const { config, softwareVersion, authorities } = this.#needs;
    const receiver = await findReceiver(authUrl, network);
    const agent = receiver.isSecure ? new SecureAgent() : new Agent();
    const headers = {
      "user-agent": `Windhover/${softwareVersion}`,
      accept: "application/json",
      ...(receiver.user !== null && { authorization: basicAuthorization(receiver.user) }),
    };
    const needs: PostNeeds = {
      ...{ config: config.delivery, agent, signal, authorities, answerBytes: config.delivery.answer_bytes },
    };
    const { status, body, isWhole } = await post(receiver, { headers, body: "" }, needs);
    if (status < 200 || status > 299) throw new PostFault(`${receiver.origin}: it answered ${status}`);
    if (!isWhole) throw new PostFault(`${receiver.origin}: its answer is too long, or does not end`);
    const token = readToken(body.toString("utf8"));
    if (token === null)
      throw new PostFault(`${receiver.origin}: expected JSON with an access_token or a token, and met something else`);
    return token;
  }
}

const keyOf = (authUrl: string, host: string): string => JSON.stringify([authUrl, host]);

function isOn(url: string, host: string): boolean {
  const authority = readAuthority(url);
  return typeof authority !== "string" && authority.host.toLowerCase() === host.toLowerCase();
}

function readToken(text: string): Token | null {
  let answer: unknown;
  try {
    answer = JSON.parse(text);
  } catch {
    return null;
  }
  if (typeof answer !== "object" || answer === null) return null;
  const { access_token, token, expires_in } = answer as Readonly<Record<string, unknown>>;
  const found = [access_token, token].find((one): one is string => typeof one === "string" && TOKEN.test(one));
  if (found === undefined) return null;
  const seconds = typeof expires_in === "number" && expires_in > 0 ? expires_in : Number.POSITIVE_INFINITY;
  return { text: found, untilMs: performance.now() + seconds * 1000 * USED_SHARE };
}
