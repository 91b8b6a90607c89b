/** Rights of runners: each token for one action on one path, known to this server alone, until it is taken back. */
import { createHash, randomBytes } from "node:crypto";

export type Action = "publish" | "play";

const TOKEN_BYTES = 32;
/** Tells tokens from keys: what is written so is never looked up as a key. */
const PREFIX = "run_";

export class RunTokens {
  /** By the digest: a look into the map then tells nothing of how much of a token was right. */
  readonly #rights = new Map<string, { readonly action: Action; readonly path: string }>();

  get size(): number {
    return this.#rights.size;
  }

  issue(action: Action, path: string): { readonly token: string; revoke(): void } {
    const token = `${PREFIX}${randomBytes(TOKEN_BYTES).toString("base64url")}`;
    const digest = digestOf(token);
    this.#rights.set(digest, { action, path });
    return { token, revoke: () => void this.#rights.delete(digest) };
  }

  isToken(secret: string): boolean {
    return secret.startsWith(PREFIX);
  }

  /** A runner may publish there. */
  publishes(path: string): boolean {
    for (const right of this.#rights.values()) if (right.action === "publish" && right.path === path) return true;
    return false;
  }

  allows(token: string, action: Action, path: string): boolean {
    const right = this.#rights.get(digestOf(token));
    return right?.action === action && right.path === path;
  }
}

const digestOf = (token: string): string => createHash("sha256").update(token).digest("base64");
