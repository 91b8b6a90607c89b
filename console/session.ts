/** Who is signed in. The key stays in this browser: for this tab, or until signed out where one asked for that. */
import { signal } from "@preact/signals";
import { ApiError, type Login, readProblem, readRefusal, Windhover } from "../client/client.ts";

/** How all that we keep in a browser is called. */
const OURS = "windhover-";
const NAME = `${OURS}key`;

export interface Session {
  readonly apiKey: string;
  readonly login: Login;
}

/** Null: nobody. Undefined: not known yet. */
export const session = signal<Session | null | undefined>(undefined);

/** Why it is not known yet. */
export const sessionFault = signal<ApiError | null>(null);

/** Why nobody is signed in any more, where it was not their own wish. */
export const farewell = signal<string | null>(null);

/** What the service is reached below: `<base>` tells, so that all is right behind a proxy that adds a prefix. */
export const base = new URL(document.baseURI).pathname.replace(/\/$/, "");

/** A start waits for the first frame; what is asked for over and over has a limit of its own. */
const LIMIT_MS = 120_000;
const KEY_FAULTS = ["api_key_invalid", "api_key_expired"];

/** A key that is no good any more ends its session, whatever was asked for with it. */
const askWatching: typeof fetch = async (...request) => {
  const { value: asker } = session;
  const answer = await fetch(...request);
  if (answer.status !== 403) return answer;
  const body: unknown = await answer
    .clone()
    .json()
    .catch(() => null);
  const { code = "", detail } = readProblem(body);
  // Not that of who has signed in since.
  if (asker && session.value === asker && KEY_FAULTS.includes(code)) signOut(detail);
  return answer;
};

export const windhover = new Windhover({
  ...{ url: base, fetch: askWatching, limitMs: LIMIT_MS },
  apiKey: () => session.value?.apiKey,
});

/**
 * For streams and files, by their path below the service. The key is in a header, not in an address that would be kept.
 * Rejects as the client does.
 */
export async function ask(path: string, signal: AbortSignal | null = null): Promise<Response> {
  const headers = { api_key: session.value?.apiKey ?? "" };
  const answer = await askWatching(base + path, { signal, headers }).catch((cause: unknown) => {
    if (signal?.aborted) throw cause;
    throw new ApiError(0, { code: "no_answer", detail: "the service cannot be reached" }, null, { cause });
  });
  if (!answer.ok) throw await readRefusal(answer);
  return answer;
}

/** Rejects with `ApiError` where the key is no good. */
export async function signIn(apiKey: string, isKept: boolean): Promise<void> {
  const login = await new Windhover({ url: base, apiKey }).login();
  sessionStorage.setItem(NAME, apiKey);
  if (isKept) localStorage.setItem(NAME, apiKey);
  farewell.value = null;
  session.value = { apiKey, login };
}

/** Who leaves leaves nothing for the next at this computer; who only needs another key finds their drafts again. */
export function signOut(reason: string | null = null): void {
  for (const name of Object.keys(sessionStorage))
    if (name === NAME || (reason === null && name.startsWith(OURS))) sessionStorage.removeItem(name);
  localStorage.removeItem(NAME);
  farewell.value = reason;
  session.value = null;
}

/** With the key of last time, if there is one that is still good. */
export async function resumeSession(): Promise<void> {
  sessionFault.value = null;
  const apiKey = sessionStorage.getItem(NAME) ?? localStorage.getItem(NAME);
  if (apiKey === null) {
    session.value = null;
    return;
  }
  try {
    await signIn(apiKey, localStorage.getItem(NAME) !== null);
  } catch (error) {
    // A service that is away says nothing about the key.
    if (!(error instanceof ApiError)) throw error;
    if (error.status === 403) signOut(error.message);
    else sessionFault.value = error;
  }
}
