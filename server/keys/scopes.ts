/** What a key may do: its scopes. Every request, websocket and stream of the media hub is checked here. */
import { INCLUDED, type Scope } from "../../schemas/api/keys.ts";
import { ServiceError } from "../service-error.ts";
import type { User } from "../user.ts";

export const hasScope = (scopes: readonly Scope[], needed: Scope): boolean =>
  scopes.some((scope) => INCLUDED[scope].includes(needed));

/** Rejects with `scope_needed`. */
export function expectScope({ key: { scopes } }: User, needed: Scope): void {
  if (hasScope(scopes, needed)) return;
  throw new ServiceError("scope_needed", { detail: lacksScope(scopes, needed) });
}

export const lacksScope = (scopes: readonly Scope[], needed: Scope): string =>
  `This requires a key with the scope \`${needed}\`; this key has ${scopes.map((scope) => `\`${scope}\``).join(", ")}.`;
