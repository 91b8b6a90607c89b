/** `detections`: stored detections as lines of JSON, from files or from a running service. */
import { LocalFile, type MessageRange, NotDetections, readMessages } from "../../server/detections/read-file.ts";
import { type Command, CommandFailure, EXIT, type Given, UsageFault } from "../command.ts";
import type { Terminal } from "../terminal.ts";

export default {
  name: "detections",
  about: "Print stored detections: one message per line, as on the socket detection_data.",
  usage: "FILE…|URL [--from TIME] [--to TIME]",
  options: {
    from: {
      type: "string",
      value: "TIME",
      about: "First capture time: 2026-05-17T08:30:00Z, or seconds from the start of a video file: 12.5.",
    },
    to: { type: "string", value: "TIME", about: "Messages before this capture time." },
    key: { type: "string", value: "KEY", about: "API key for a URL; default: WINDHOVER_KEY." },
  },
  notes: [
    "FILE is a file of data_dir/detections/PROCESS, also one that is being written; several are printed in the order of their numbers. A process has a file for each start of its runner and for each recordings.segment_seconds.",
    "URL is that of a process: http://localhost:8080/process/UUID. The service then reads the files, wherever they are.",
    "Exit codes: 0 success, 1 failure, 2 an invalid command line.",
  ].join("\n"),
  examples: [
    "detections data/detections/0198c7a2-*/*.ndjson.gz",
    "detections 0.ndjson.gz --from 2026-05-17T08:30:00Z --to 2026-05-17T08:31:00Z",
    "detections http://localhost:8080/process/0198c7a2-7e8f-7000-8000-0123456789ab --from 12.5 > boxes.ndjson",
  ],
  async run(given, terminal) {
    const { positionals } = given;
    const [first] = positionals;
    if (first === undefined) throw new UsageFault("missing: FILE or URL");
    if (isUrl(first) && positionals.length > 1)
      throw new UsageFault(`unexpected argument "${positionals[1]}"; expected one URL`);
    if (isUrl(first)) await printFrom(first, given, terminal);
    else for (const path of [...positionals].sort(byNumber)) await printFile(path, given, terminal);
    return EXIT.ok;
  },
} satisfies Command;

/** A shell lists 10 before 2. */
const byNumber = (a: string, b: string): number => a.localeCompare(b, "en", { numeric: true });

const isUrl = (text: string): boolean => text.startsWith("http://") || text.startsWith("https://");

const SECONDS = /^\d{1,9}(?:\.\d{1,6})?$/;
const DAY = /^\d{4}-\d\d-\d\d/;

/** Capture time. @param videoStartMs of second 0; null: of a live source */
function readTime(given: Given, name: "from" | "to", videoStartMs: number | null): number | null {
  const text = given.text(name);
  if (text === undefined) return null;
  if (SECONDS.test(text)) {
    if (videoStartMs !== null) return videoStartMs + Math.round(Number(text) * 1000);
    throw new UsageFault(`--${name} is a number of seconds; expected a time, as the source was live`);
  }
  const timeMs = DAY.test(text) ? Date.parse(text) : Number.NaN;
  if (!Number.isNaN(timeMs)) return timeMs;
  throw new UsageFault(`--${name} is "${text}"; expected a time such as 2026-05-17T08:30:00Z, or seconds`);
}

function readRange(given: Given, videoStartMs: number | null): MessageRange {
  const fromMs = readTime(given, "from", videoStartMs) ?? Number.NEGATIVE_INFINITY;
  const toMs = readTime(given, "to", videoStartMs) ?? Number.POSITIVE_INFINITY;
  if (toMs > fromMs) return { fromMs, toMs };
  throw new UsageFault("--to is not after --from");
}

async function printFile(path: string, given: Given, terminal: Terminal): Promise<void> {
  const file = await LocalFile.open(path).catch((error: Error) => {
    throw new CommandFailure(`${path} cannot be opened: ${error.message}`, { cause: error });
  });
  const onDamaged = (error: Error): void => terminal.say(`windhover: ${path} is damaged: ${error.message}`);
  try {
    const range = readRange(given, await readVideoStart(file));
    for await (const message of readMessages(file, { range, onDamaged })) {
      if (terminal.isClosed) return;
      await terminal.print(JSON.stringify(message));
    }
  } catch (error) {
    if (!(error instanceof NotDetections)) throw error;
    throw new CommandFailure(
      `${path} is not a file of stored detections; expected an *.ndjson.gz of data_dir/detections`,
      { cause: error },
    );
  } finally {
    await file.close();
  }
}

/** Null: the source was live, or nothing is in the file. */
async function readVideoStart(file: LocalFile): Promise<number | null> {
  let startMs: number | null = null;
  const everything = { fromMs: Number.NEGATIVE_INFINITY, toMs: Number.POSITIVE_INFINITY };
  const onHeader = ({ video_start: start }: { readonly video_start?: string }): void => {
    if (start !== undefined) startMs = Date.parse(start);
  };
  for await (const _ of readMessages(file, { range: everything, onDamaged: () => {}, onHeader })) break;
  return startMs;
}

async function printFrom(url: string, given: Given, terminal: Terminal): Promise<void> {
  const key = given.text("key") ?? process.env.WINDHOVER_KEY;
  if (key === undefined) throw new UsageFault("missing: --key KEY, or WINDHOVER_KEY in the environment");
  const target = new URL(url);
  target.pathname = `${target.pathname.replace(/(?<!\/)\/+$/, "")}/detections`;
  for (const name of ["from", "to"] as const) {
    const text = given.text(name);
    if (text !== undefined) target.searchParams.set(name, text);
  }
  let answer: Response;
  try {
    answer = await fetch(target, { headers: { api_key: key } });
  } catch (error) {
    const { cause, message } = error as Error;
    throw new CommandFailure(`${url} cannot be reached: ${cause instanceof Error ? cause.message : message}`);
  }
  if (!answer.ok || answer.body === null) throw new CommandFailure(await explain(answer));
  let rest = "";
  for await (const text of answer.body.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    if (lines.length > 0) await terminal.print(lines.join("\n"));
    if (terminal.isClosed) return;
  }
}

async function explain(answer: Response): Promise<string> {
  const { detail, title } = (await answer.json().catch(() => ({}))) as { detail?: string; title?: string };
  return `the service answered ${answer.status}: ${detail ?? title ?? answer.statusText}`;
}
