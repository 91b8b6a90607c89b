/**
 * The signed-in user. An API key stays in this browser: for this tab, or until sign-out if the user asked for that. The
 * session of a person who signed in through an identity provider is a cookie, which the browser sends by itself.
 */
import { signal } from "@preact/signals";
import { ApiError, type Login, readApiError, readProblem, type SignInOptions, Windhover } from "../client/client.ts";

/** Prefix of everything the console stores in a browser. */
const STORAGE_PREFIX = "windhover-";
const KEY_NAME = `${STORAGE_PREFIX}key`;

interface Session {
  /** Null: the session is a cookie. */
  readonly apiKey: string | null;
  readonly login: Login;
}

/** Null: signed out. Undefined: the stored key is being checked. */
export const session = signal<Session | null | undefined>(undefined);

/** The key is that of an operator. False until it is known. */
export const isOperator = signal(false);

/** Why the stored key could not be checked. */
export const sessionError = signal<ApiError | null>(null);

/** Why the service ended the session; null after a sign-out by the user. */
export const signOutReason = signal<string | null>(null);

/** Path of the service, from `<base>`: also correct behind a proxy that adds a prefix. */
export const base = new URL(document.baseURI).pathname.replace(/\/$/, "");

/** Starting a process waits for its first frame. Polled resources have a shorter timeout of their own. */
const TIMEOUT_MS = 120_000;
const KEY_ERRORS = ["api_key_invalid", "api_key_expired"];

/** Ends the session when the service rejects its key. */
const fetchWatchingKey: typeof fetch = async (...request) => {
  const { value: sender } = session;
  const response = await fetch(...request);
  if (response.status !== 403) return response;
  const body: unknown = await response
    .clone()
    .json()
    .catch(() => null);
  const { code = "", detail } = readProblem(body);
  // Another user may have signed in since the request was sent.
  if (sender && session.value === sender && KEY_ERRORS.includes(code)) signOut(detail);
  return response;
};

export const windhover = new Windhover({
  ...{ url: base, fetch: fetchWatchingKey, limitMs: TIMEOUT_MS },
  apiKey: () => session.value?.apiKey ?? undefined,
});

/**
 * Requests a stream or a file by its path below the service. The key goes into a header: addresses end up in histories and
 * logs. Rejects as the client does.
 */
export async function request(path: string, signal: AbortSignal | null = null): Promise<Response> {
  const headers = keyHeaders();
  const response = await fetchWatchingKey(base + path, { signal, headers }).catch((cause: unknown) => {
    if (signal?.aborted) throw cause;
    throw new ApiError(0, { code: "no_answer", detail: "the service cannot be reached" }, null, { cause });
  });
  if (!response.ok) throw await readApiError(response);
  return response;
}

/** For requests without the client. */
export const keyHeaders = (): Record<string, string> =>
  session.value?.apiKey == null ? {} : { api_key: session.value.apiKey };

/** The identity provider; null: none is configured, or it is not known yet. */
export const provider = signal<SignInOptions["oidc"]>(null);

/** Rejects with `ApiError` if the key is not valid. */
export async function signIn(apiKey: string, isKept: boolean): Promise<void> {
  const login = await new Windhover({ url: base, apiKey }).login();
  sessionStorage.setItem(KEY_NAME, apiKey);
  if (isKept) localStorage.setItem(KEY_NAME, apiKey);
  open({ apiKey, login });
}

function open(opened: Session): void {
  signOutReason.value = null;
  session.value = opened;
  isOperator.value = false;
  // Only operators may list the nodes. Not awaited: the pages of all users do not depend on it.
  void windhover.listNodes().then(
    () => {
      if (session.value === opened) isOperator.value = true;
    },
    () => {},
  );
}

/** A sign-out by the user deletes everything that was stored; after a rejected key, drafts stay for the next key. */
export function signOut(reason: string | null = null): void {
  // Not awaited: the cookie may have expired already.
  if (session.value?.apiKey === null && reason === null) void windhover.signOut().catch(() => {});
  for (const name of Object.keys(sessionStorage))
    if (name === KEY_NAME || (reason === null && name.startsWith(STORAGE_PREFIX))) sessionStorage.removeItem(name);
  localStorage.removeItem(KEY_NAME);
  signOutReason.value = reason;
  session.value = null;
}

/** Signs in with the stored key. */
export async function resumeSession(): Promise<void> {
  sessionError.value = null;
  const apiKey = sessionStorage.getItem(KEY_NAME) ?? localStorage.getItem(KEY_NAME);
  if (apiKey === null) return resumeCookie();
  try {
    await signIn(apiKey, localStorage.getItem(KEY_NAME) !== null);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    // Any other error does not say that the key is wrong.
    if (error.status === 403) signOut(error.message);
    else sessionError.value = error;
  }
}

/** Texts for `?sign_in=` of the address, with which the service answers a failed sign-in. */
const FAULTS: Readonly<Record<string, string>> = {
  denied: "The identity provider did not sign you in.",
  expired: "The sign-in took too long, or was started in another browser. Try again.",
  provider:
    "The identity provider cannot be reached, or its answer is not valid. Try again, or ask the operator: the log has the reason.",
  no_role: "You are signed in at the identity provider, but have no role for this service. Ask its operator.",
  no_account:
    "You are signed in at the identity provider, but your account does not exist in this service. Ask its operator.",
  too_many: "Too many failed sign-ins from this address. Try again in a minute.",
};

/** Signs in with the cookie, if there is one. */
async function resumeCookie(): Promise<void> {
  const address = new URL(window.location.href);
  const fault = address.searchParams.get("sign_in");
  if (fault !== null) {
    signOutReason.value = FAULTS[fault] ?? "The sign-in failed. Try again.";
    address.searchParams.delete("sign_in");
    history.replaceState(null, "", address);
  }
  const client = new Windhover({ url: base });
  try {
    const { oidc, signed_in } = await client.readSignInOptions();
    provider.value = oidc;
    if (signed_in) open({ apiKey: null, login: await client.login() });
    else session.value = null;
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    if (error.status === 403) session.value = null;
    else sessionError.value = error;
  }
}
