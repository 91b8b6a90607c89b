import type { Authenticate } from "../keys/authenticate.ts";
import { ServiceError } from "../service-error.ts";

export interface KeyHolder {
  readonly apiKey: string | null;
  /** Where it came from. */
  readonly address: string;
}

/**
 * Streams stay open for days: a key that is revoked or expires in the meantime must end them. Looked at again every so
 * often; a database that does not answer ends nothing. Returns how to stop.
 */
export function watchKey(
  authenticate: Authenticate,
  { apiKey, address }: KeyHolder,
  everySeconds: number,
  onInvalid: () => void,
): () => void {
  const timer = setInterval(() => {
    authenticate(apiKey, address).catch((error: unknown) => {
      if (!isRefusal(error)) return;
      clearInterval(timer);
      onInvalid();
    });
  }, everySeconds * 1000);
  return () => clearInterval(timer);
}

const isRefusal = (error: unknown): boolean =>
  error instanceof ServiceError && (error.code === "api_key_invalid" || error.code === "api_key_expired");
