/** A real OpenID Connect provider on this machine, and a browser with cookies that signs in to it. */
import { createServer, type Server } from "node:http";
import Provider from "oidc-provider";
import { findFreePort } from "../../test/ports.fixture.ts";

export const CLIENT = { id: "windhover", secret: "a-secret-of-the-client" } as const;

/** Claims of the people who can sign in, by login. */
export type People = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

export interface IdentityProvider {
  readonly issuer: string;
  close(): Promise<void>;
}

/** `redirectUri`: where the service expects the browser. `isLean`: claims are not in the id token, only in `userinfo`. */
export async function openProvider(
  people: People,
  redirectUri: () => string,
  { isLean = false } = {},
): Promise<IdentityProvider> {
  const issuer = `http://127.0.0.1:${await findFreePort()}`;
  let server: Server | null = null;
  // Made with the first request: the service that it redirects to listens by then.
  const make = () =>
    new Provider(issuer, {
      clients: [
        {
          ...{ client_id: CLIENT.id, client_secret: CLIENT.secret, redirect_uris: [redirectUri()] },
          ...{ grant_types: ["authorization_code"], response_types: ["code"] },
          token_endpoint_auth_method: "client_secret_post",
        },
      ],
      pkce: { required: () => true },
      claims: { openid: ["sub"], profile: ["preferred_username", "roles", "tenant", "realm_access"] },
      conformIdTokenClaims: isLean,
      cookies: { keys: ["a-key-of-the-test"] },
      findAccount: (_context: unknown, sub: string) =>
        people[sub] === undefined
          ? undefined
          : { accountId: sub, claims: () => ({ sub, preferred_username: sub, ...people[sub] }) },
    });
  let provider: Provider | null = null;
  server = createServer((request, response) => {
    provider ??= make();
    void provider.callback()(request, response);
  });
  const listening = server;
  await new Promise<void>((resolve) => listening.listen(Number(new URL(issuer).port), "127.0.0.1", resolve));
  return {
    issuer,
    close: () =>
      new Promise((resolve) => {
        listening.close(() => resolve());
        listening.closeAllConnections();
      }),
  };
}

/** Follows redirects one by one, with the cookies of each origin. */
export class Browser {
  readonly #cookies = new Map<string, Map<string, string>>();

  cookiesOf(url: string): ReadonlyMap<string, string> {
    return this.#jar(url);
  }

  setCookie(url: string, name: string, value: string): void {
    this.#jar(url).set(name, value);
  }

  async fetch(url: string, init: RequestInit = {}): Promise<Response> {
    const cookie = [...this.#jar(url)].map(([name, value]) => `${name}=${value}`).join("; ");
    const headers = { ...(init.headers as Record<string, string>), ...(cookie !== "" && { cookie }) };
    const response = await fetch(url, { ...init, headers, redirect: "manual" });
    for (const text of response.headers.getSetCookie()) {
      const [pair = "", ...attributes] = text.split("; ");
      const [name = "", value = ""] = pair.split(/=(.*)/s);
      const isGone = value === "" || attributes.some((one) => /^(max-age=0|expires=Thu, 01 Jan 1970)/i.test(one));
      if (isGone) this.#jar(url).delete(name);
      else this.#jar(url).set(name, value);
    }
    return response;
  }

  /** From the service to the provider, where it logs in and consents, and back. Resolves with the last response of the service. */
  async signIn(begin: string, login: string): Promise<Response> {
    let url = begin;
    let response = await this.fetch(url);
    for (let step = 0; step < 20; step++) {
      const location = response.headers.get("location");
      if (location !== null) {
        const next = new URL(location, url).href;
        if (new URL(next).pathname === "/console") return response;
        url = next;
        response = await this.fetch(url);
        continue;
      }
      const page = await response.text();
      const [, action] = /<form[^>]* action="([^"]+)"/.exec(page) ?? [];
      const [, prompt = ""] = /name="prompt" value="([^"]+)"/.exec(page) ?? [];
      if (action === undefined) throw new Error(`${url}: ${response.status} ${page.slice(0, 500)}`);
      url = new URL(action, url).href;
      const body = new URLSearchParams({ prompt, ...(prompt === "login" && { login, password: "any" }) });
      response = await this.fetch(url, { method: "POST", body });
    }
    throw new Error(`the sign-in does not end: ${url}`);
  }

  #jar(url: string): Map<string, string> {
    const { origin } = new URL(url);
    const jar = this.#cookies.get(origin) ?? new Map<string, string>();
    this.#cookies.set(origin, jar);
    return jar;
  }
}
