/** Who is signed in. The key stays in this browser: for this tab, or until signed out where one asked for that. */
import { signal } from "@preact/signals";
import { ApiError, type Login, Windhover } from "../client/client.ts";

const NAME = "windhover-key";

export interface Session {
  readonly apiKey: string;
  readonly login: Login;
}

/** Null: nobody. Undefined: not known yet. */
export const session = signal<Session | null | undefined>(undefined);

/** Why it is not known yet. */
export const sessionFault = signal<ApiError | null>(null);

/** What the service is reached below: `<base>` tells, so that all is right behind a proxy that adds a prefix. */
export const base = new URL(document.baseURI).pathname.replace(/\/$/, "");

export const windhover = new Windhover({ url: base, apiKey: () => session.value?.apiKey ?? undefined });

/** Rejects with `ApiError` where the key is no good. */
export async function signIn(apiKey: string, isKept: boolean): Promise<void> {
  const login = await new Windhover({ url: base, apiKey }).login();
  sessionStorage.setItem(NAME, apiKey);
  if (isKept) localStorage.setItem(NAME, apiKey);
  session.value = { apiKey, login };
}

export function signOut(): void {
  sessionStorage.removeItem(NAME);
  localStorage.removeItem(NAME);
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
    if (error.status === 403) signOut();
    else sessionFault.value = error;
  }
}
