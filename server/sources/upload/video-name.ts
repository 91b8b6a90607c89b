/** The name that a client gave a file: shown, and asked for its ending; never a path. */
import { ServiceError } from "../../service-error.ts";

const ENDINGS = ["mp4", "mov", "avi"] as const;
const MOST_CHARACTERS = 255;

export interface VideoName {
  /** Fit to be shown and kept. */
  readonly shown: string;
  readonly ending: (typeof ENDINGS)[number];
}

/** Rejects a name without one of the endings that may be uploaded. */
export function readVideoName(given: string | undefined): VideoName {
  const shown = cleanName(given ?? "");
  const found = /\.([a-z0-9]+)$/i.exec(shown)?.[1]?.toLowerCase();
  const ending = ENDINGS.find((known) => known === found);
  if (ending !== undefined) return { shown, ending };
  const message = `has the name ${JSON.stringify(shown.slice(0, 100))}; expected one that ends in .mp4, .mov or .avi`;
  throw new ServiceError("invalid_input", { detail: `file ${message}.`, errors: [{ path: "file", message }] });
}

/** The last part of a path of any system, without what cannot be seen. What is too long loses its beginning. */
export function cleanName(given: string): string {
  const [last = ""] = given.split(/[/\\]/).slice(-1);
  const visible = last.replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu, "").trim();
  return [...visible].slice(-MOST_CHARACTERS).join("");
}
