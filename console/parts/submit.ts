/** What a form does when it is sent: once at a time, and with what went wrong. */
import { useState } from "preact/hooks";
import type { ApiError } from "../../client/client.ts";
import { toApiError } from "../asking.ts";

export interface Submission {
  readonly error: ApiError | null;
  readonly isBusy: boolean;
  readonly submit: (event: SubmitEvent) => Promise<void>;
  /** What went wrong is being mended. */
  forget(): void;
}

/** `work` throws what went wrong, with words for people. */
export function useSubmit(work: (form: FormData) => Promise<void>): Submission {
  const [error, setError] = useState<ApiError | null>(null);
  const [isBusy, setBusy] = useState(false);
  const submit = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault();
    setBusy(true);
    setError(null);
    try {
      await work(new FormData(event.currentTarget as HTMLFormElement));
    } catch (fault) {
      setError(toApiError(fault));
    } finally {
      setBusy(false);
    }
  };
  return { error, isBusy, submit, forget: () => setError(null) };
}
