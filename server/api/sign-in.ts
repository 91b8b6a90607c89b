/** Signing in to the console through an identity provider, and out. */
import { SignedOut, SignInOptions } from "../../schemas/api/sign-in.ts";
import type { GuessGate } from "../keys/authenticate.ts";
import { type Oidc, PENDING_SECONDS, SignInError } from "../keys/oidc.ts";
import { readCookie, SESSION_COOKIE, writeCookie } from "../keys/sessions.ts";
import { ServiceError } from "../service-error.ts";
import { revokeKey } from "../store/api-keys.ts";
import type { Sql } from "../store/client.ts";
import type { ApiCall } from "./context.ts";
import { type AnyEndpoint, defineEndpoints, ok } from "./endpoint.ts";

interface SignInDeps {
  readonly sql: Sql;
  readonly oidc: Oidc;
  readonly sessionSeconds: number;
  /** Failed sign-ins count like wrong keys. */
  readonly gate: GuessGate;
}

const define = defineEndpoints("Keys");

const BEGIN = "/sign_in/oidc";
const CALLBACK = `${BEGIN}/callback`;
const PENDING_COOKIE = "windhover_sign_in";

type BrowserCall = Pick<ApiCall, "raw" | "publicUrl" | "address" | "log">;

export function signInEndpoints({ sql, oidc, sessionSeconds, gate }: SignInDeps): readonly AnyEndpoint[] {
  const expectEnabled = (): void => {
    if (oidc.isEnabled) return;
    throw new ServiceError("sign_in_disabled", {
      detail: "oidc.issuer is not configured: sign in with an API key, or ask the operator.",
    });
  };
  const cookie = (name: string, value: string, maxAgeSeconds: number, { publicUrl }: BrowserCall): string =>
    writeCookie(name, value, {
      maxAgeSeconds,
      isSecure: publicUrl.startsWith("https:"),
      // The provider sends the browser back from another site; the console uses the session only itself.
      ...(name === PENDING_COOKIE ? { sameSite: "Lax", path: BEGIN } : { sameSite: "Strict", path: "/" }),
    });
  /** To the console, with the reason if it failed. */
  const redirect = (to: string, cookies: readonly string[]): Response =>
    new Response(null, {
      status: 303,
      headers: [
        ["Location", to],
        ["Cache-Control", "no-store"],
        ["Referrer-Policy", "no-referrer"],
        ...cookies.map((text): [string, string] => ["Set-Cookie", text]),
      ],
    });
  const answer = async (call: BrowserCall, work: () => Promise<Response>): Promise<Response> => {
    expectEnabled();
    try {
      gate.begin(call.address);
    } catch {
      return redirect("/console?sign_in=too_many", []);
    }
    let isWrong = true;
    try {
      const response = await work();
      isWrong = false;
      return response;
    } catch (error) {
      if (!(error instanceof SignInError)) throw error;
      call.log.warn({ err: error.cause, reason: error.message, address: call.address }, "sign-in failed");
      return redirect(`/console?sign_in=${error.fault}`, [cookie(PENDING_COOKIE, "", 0, call)]);
    } finally {
      gate.end(call.address, isWrong);
    }
  };
  return [
    define("GET", "/sign_in", "readSignInOptions", {
      summary: "Ways to sign in to the console",
      access: "optional",
      answers: { 200: { description: "The identity provider, if one is configured.", schema: SignInOptions } },
      handle: ({ user, publicUrl }) =>
        ok({ signed_in: user !== null, oidc: oidc.isEnabled ? { name: oidc.name, url: publicUrl + BEGIN } : null }),
    }),
    define("GET", BEGIN, "beginSignIn", {
      summary: "Sign in through the identity provider: for browsers",
      description: "Redirects to the provider, which redirects back to `/sign_in/oidc/callback`.",
      access: "none",
      answers: { 303: { description: "To the provider, or with the reason why not to the console." } },
      errors: ["sign_in_disabled"],
      handle: (call) =>
        answer(call, async () => {
          const { url, pending } = await oidc.begin(call.publicUrl + CALLBACK);
          return redirect(url, [cookie(PENDING_COOKIE, pending, PENDING_SECONDS, call)]);
        }),
    }),
    define("GET", CALLBACK, "finishSignIn", {
      summary: "The way back from the identity provider: for browsers",
      description:
        "Sets the cookie of the session: not readable by scripts, only sent by pages of this service, valid for `oidc.session_seconds`. Parameters are those of OpenID Connect.",
      access: "none",
      acceptsAnyQuery: true,
      answers: { 303: { description: "To the console; `?sign_in=` is the reason if it failed." } },
      errors: ["sign_in_disabled"],
      handle: (call) =>
        answer(call, async () => {
          const pending = readCookie(call.raw, PENDING_COOKIE);
          const address = new URL(call.publicUrl + CALLBACK);
          address.search = call.search.toString();
          const { key } = await oidc.finish(address, pending);
          const cookies = [cookie(SESSION_COOKIE, key, sessionSeconds, call), cookie(PENDING_COOKIE, "", 0, call)];
          return redirect("/console", cookies);
        }),
    }),
    define("POST", "/sign_out", "signOut", {
      summary: "End the session of the console",
      description: "Its cookie is deleted, and the session ends everywhere. An API key stays valid.",
      scope: null,
      sources: "none",
      answers: { 200: { description: "Signed out.", schema: SignedOut } },
      async handle(call) {
        const { person, uuid } = call.user.key;
        if (person !== null) await revokeKey(sql, uuid);
        return {
          status: 200,
          body: { signed_out: true },
          headers: { "Set-Cookie": cookie(SESSION_COOKIE, "", 0, call) },
        };
      },
    }),
  ];
}
