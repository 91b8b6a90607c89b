/**
 * Two nodes for all tests of this folder, which share a process: each node costs seconds of processor time. They reach the
 * database through PgBouncer, if it is installed.
 */
import { after } from "node:test";
import { startCamera } from "../../camera.fixture.ts";
import { openPgBouncer, pgbouncerIsMissing } from "../../pgbouncer.fixture.ts";
import { registerCamera, TestCluster } from "../cluster.fixture.ts";

/** Connections to PostgreSQL, fewer than the nodes need at once: statements of a client meet sessions of others. */
const SESSIONS = "6";

const camera = await startCamera({ fps: 10 });
after(() => camera.kill());
const cluster = await TestCluster.start(0, {
  ...{ WINDHOVER_CLUSTER_PROCESSES: "1", WINDHOVER_HTTP_TRUSTED_PROXIES: "127.0.0.1" },
});
after(() => cluster.close());

export const { databaseUrl } = cluster;
export const bouncer =
  pgbouncerIsMissing === false
    ? await openPgBouncer(databaseUrl, { default_pool_size: SESSIONS, query_wait_timeout: "60" })
    : null;
const database = bouncer === null ? {} : { DATABASE_URL: bouncer.url };

export const first = await cluster.add({
  ...{ ...database, WINDHOVER_CLUSTER_LABELS: "site=a", WINDHOVER_MEDIA_HOSTS: "cams-a.example" },
});
export const second = await cluster.add({ ...database, WINDHOVER_CLUSTER_LABELS: "site=b" });
export const yard = await registerCamera(first, camera.url);
