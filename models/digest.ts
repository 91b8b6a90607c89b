import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { pipeline } from "node:stream/promises";

/** Of a file, however long. */
export async function digestFile(
  file: string,
  algorithm: "sha256" | "sha512" = "sha256",
  encoding: "hex" | "base64" = "hex",
): Promise<string> {
  const hash = createHash(algorithm);
  await pipeline(createReadStream(file), hash);
  return hash.digest(encoding);
}

export const digestBytes = (bytes: Uint8Array | string): string => createHash("sha256").update(bytes).digest("hex");
