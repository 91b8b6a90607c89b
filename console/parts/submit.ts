/** What a form does when it is sent: once at a time, and with what went wrong. */
import { useState } from "preact/hooks";
import type { ApiError } from "../../client/client.ts";
import { toApiError } from "../asker.ts";
import { goFrom, place } from "../router.ts";

export interface Submission {
  readonly error: ApiError | null;
  readonly isBusy: boolean;
  readonly submit: (event: SubmitEvent) => Promise<void>;
  /** What went wrong is being mended. */
  forget(): void;
}

/** Leads to another page, unless one has gone elsewhere since the form was sent. */
type GoOn = (address: string) => void;

/** `work` throws what went wrong, with words for people. */
export function useSubmit(work: (form: FormData, goOn: GoOn) => Promise<void>): Submission {
  const [error, setError] = useState<ApiError | null>(null);
  const [isBusy, setBusy] = useState(false);
  const submit = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault();
    setBusy(true);
    setError(null);
    const { value: here } = place;
    try {
      await work(new FormData(event.currentTarget as HTMLFormElement), (address) => goFrom(here, address));
    } catch (fault) {
      setError(toApiError(fault));
    } finally {
      setBusy(false);
    }
  };
  return { error, isBusy, submit, forget: () => setError(null) };
}
