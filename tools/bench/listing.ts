/**
 * Pages of every listing with 10,000 processes, 100,000 notices and 1,000 sources of one key: the time of the slowest of
 * twenty pages (p95), compared with its limit. By each filter and order, the first page and one from the middle.
 */
import { randomBytes } from "node:crypto";
import { pino } from "pino";
import { CommandFailure, EXIT } from "../../cli/command.ts";
import type { Terminal } from "../../cli/terminal.ts";
import { alignTable } from "../../cli/text.ts";
import { makeKey } from "../../server/keys/keys.ts";
import { connectClient } from "../../server/store/client.ts";
import { startPrivatePostgres } from "../../server/store/private-postgres.ts";
import { Keyring } from "../../server/store/sealing/keyring.ts";
import { callApi, readRounds, startService, withFolder } from "./harness.ts";
import { type Filled, FULL, fillListings } from "./listing/fill.ts";

const LIMIT_MS = 50;
const PAGE = 100;
const ROUNDS = 40;
const LIMITS = { url: null, connections: 2, start_seconds: 60, statement_seconds: 600 };

/** The requests of each listing, without `limit`. */
export const requestsOf = ({ sourceUuid, processUuid, alertUuid, alias, middle }: Filled): readonly string[] => {
  const named = `alias=${encodeURIComponent(alias)}`;
  const range = `from=${middle.toISOString()}`;
  return [
    ...["", "sort=alias", "type=file", "stream_type=rtsp", named, "status=unknown", "status=offline"].map(
      (query) => `/sources?${query}`,
    ),
    ...["", "state=all", "state=failed", `state=all&source_uuid=${sourceUuid}`, "state=all&graph=count"].map(
      (query) => `/processes?${query}`,
    ),
    ...["state=all&sort=finished_at", "state=all&sort=-finished_at", `state=all&${range}&sort=created_at`].map(
      (query) => `/processes?${query}`,
    ),
    ...["", `source_uuid=${sourceUuid}`, "sort=finished_at", range].map((query) => `/tracked_processes?${query}`),
    ...["", "sort=-track_id", "class=dog", `${range}`].map((query) => `/process/${processUuid}/tracks?${query}`),
    ...["", "sort=alias", "type=rtmp"].map((query) => `/outputs?${query}`),
    ...["", "sort=alias", "status=inactive"].map((query) => `/alerts?${query}`),
    "/active/alerts?",
    ...["", "sort=started_at", "sort=alias", `source_uuid=${sourceUuid}`, named, `since=${middle.toISOString()}`].map(
      (query) => `/sources/recordings?${query}`,
    ),
    ...["", "state=failed", `source_uuid=${sourceUuid}`].map((query) => `/clips?${query}`),
    ...["", "sort=timestamp", "class=dog", "class=person&reviewed=false", "reviewed=false", "evidence=failed"].map(
      (query) => `/notices?${query}`,
    ),
    ...[`alert=${alertUuid}`, `source=${sourceUuid}`, `process=${processUuid}&${range}`].map(
      (query) => `/notices?${query}`,
    ),
    ...["", "origin=own", "sort=-name"].map((query) => `/graphs?${query}`),
  ];
};

export default function listing(args: readonly string[], terminal: Terminal): Promise<number> {
  const rounds = readRounds(args, ROUNDS);
  return withFolder(async (folder) => {
    const database = await startPrivatePostgres({
      ...{ dataDir: folder, connections: 50, startSeconds: 60, stopSeconds: 20, settings: {}, isTemporary: true },
      log: pino({ level: "silent" }),
    });
    const [key, secret] = [makeKey(), randomBytes(32)];
    const { host, user, database: name } = database.address;
    const url = `postgres:///${name}?host=${encodeURIComponent(host)}&user=${user}`;
    const env = { DATABASE_URL: url, WINDHOVER_RUNNERS_SPARE: "0", WINDHOVER_SECRETS_KEY: secret.toString("hex") };
    const limits = { WINDHOVER_LIMITS_REQUESTS_PER_MINUTE: "1000000" };
    try {
      const service = await startService(folder, key, { ...env, ...limits });
      try {
        terminal.say("filling the database");
        const sql = connectClient(database.address, LIMITS, pino({ level: "silent" }), new Keyring([secret]));
        const [owner] = await sql<{ uuid: string }[]>`select uuid from users limit 1`;
        if (owner === undefined) throw new CommandFailure("the database has no user");
        const filled = await fillListings(sql, owner.uuid, FULL).finally(() => sql.end());
        return await measure({ url: service.url, key }, filled, rounds, terminal);
      } finally {
        await service.stop();
      }
    } finally {
      await database.stop();
    }
  });
}

async function measure(
  api: { readonly url: string; readonly key: string },
  filled: Filled,
  rounds: number,
  terminal: Terminal,
): Promise<number> {
  const rows: string[][] = [];
  let worst = 0;
  // How busy the machine is.
  const least = await timeRequests(api, ["/login"], rounds);
  for (const request of requestsOf(filled)) {
    const first = `${request}&limit=${PAGE}`;
    const { body } = await callApi<{ next_cursor?: string }>(api, "GET", first);
    const pages = [first, ...(body.next_cursor === undefined ? [] : [`${first}&cursor=${body.next_cursor}`])];
    const p95 = await timeRequests(api, pages, rounds);
    worst = Math.max(worst, p95 / LIMIT_MS);
    rows.push([readable(request, filled), p95.toFixed(1), (p95 / LIMIT_MS).toFixed(2)]);
  }
  await terminal.print(alignTable(["listing", "p95 ms", "of limit"], rows, terminal.paintOut));
  terminal.say(
    `${FULL.processes} processes, ${FULL.notices} notices, ${FULL.sources} sources; pages of ${PAGE}, ${rounds} of each; limit ${LIMIT_MS} ms; GET /login takes ${least.toFixed(1)} ms; the slowest takes ${worst.toFixed(2)} of it`,
  );
  return worst > 1 ? EXIT.failed : EXIT.ok;
}

/** p95 of requests to these paths in turn. */
async function timeRequests(
  api: { readonly url: string; readonly key: string },
  paths: readonly string[],
  rounds: number,
): Promise<number> {
  const times: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const beganMs = performance.now();
    await callApi(api, "GET", paths[round % paths.length] ?? "");
    times.push(performance.now() - beganMs);
  }
  return times.sort((a, b) => a - b)[Math.ceil(times.length * 0.95) - 1] ?? Number.NaN;
}

/** Without uuids and times. */
function readable(request: string, { sourceUuid, processUuid, alertUuid, middle }: Filled): string {
  const known = [sourceUuid, processUuid, alertUuid, middle.toISOString()];
  const short = known.reduce((text, value) => text.replaceAll(value, "…"), request);
  return short.endsWith("?") ? short.slice(0, -1) : short;
}
