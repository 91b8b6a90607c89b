/** gzip for JSON. Streams, feeds and events go out as they are: they must not wait in a compressor. */
import { promisify } from "node:util";
import { constants, gzip } from "node:zlib";

const zip = promisify(gzip);

/** Less than this is not worth the work. */
export const LEAST_COMPRESSED = 1024;

export const compress = (text: string): Promise<Buffer> => zip(text, { level: constants.Z_BEST_SPEED });

/** By `Accept-Encoding`: named or covered by a star, and not refused with `q=0`. */
export function acceptsGzip(header: string | undefined): boolean {
  if (header === undefined) return false;
  const weights = new Map(
    header.split(",").map((entry) => {
      const [name = "", ...parameters] = entry.split(";").map((part) => part.trim().toLowerCase());
      const weight = parameters.find((parameter) => parameter.startsWith("q="))?.slice(2);
      return [name, weight === undefined ? 1 : Number(weight)];
    }),
  );
  return (weights.get("gzip") ?? weights.get("x-gzip") ?? weights.get("*") ?? 0) > 0;
}
