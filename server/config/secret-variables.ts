/** Variables that no child of the server gets: children handle what strangers send, and need none of them. */
import { CONFIG_KEYS } from "./keys.ts";

/** For the environment of a child: `{ ...process.env, ...WITHOUT_SECRETS }`. */
export const WITHOUT_SECRETS: Readonly<Record<string, undefined>> = Object.fromEntries(
  ["DATABASE_URL", ...CONFIG_KEYS.filter(({ isSecret }) => isSecret).map(({ variable }) => variable)].map((name) => [
    name,
    undefined,
  ]),
);
