/** One picture of a running process, to draw on. */
import { ask } from "../session.ts";
import { PartReader } from "./read-parts.ts";

const LIMIT_MS = 15_000;

/** An address for an `<img>`, to be revoked. Rejects with words for people. `signal`: nobody wants it any more. */
export async function takePicture(processUuid: string, signal: AbortSignal): Promise<string> {
  const ending = new AbortController();
  const end = () => ending.abort();
  const timer = setTimeout(end, LIMIT_MS);
  signal.addEventListener("abort", end);
  try {
    const { body } = await ask(`/process/${processUuid}/feed?overlay=none`, ending.signal);
    const parts = new PartReader();
    const reader = body?.getReader();
    for (let read = await reader?.read(); read?.done === false; read = await reader?.read()) {
      const [picture] = parts.read(read.value);
      if (picture !== undefined)
        return URL.createObjectURL(new Blob([picture.jpeg as BlobPart], { type: "image/jpeg" }));
    }
    throw new Error("the process ended before it showed a picture");
  } catch (error) {
    throw ending.signal.aborted ? new Error("no picture came in time; is the process paused?") : error;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", end);
    ending.abort();
  }
}
