/** Two nodes for all tests of this folder, which share a process: each node costs seconds of processor time. */
import { after } from "node:test";
import { startCamera } from "../../camera.fixture.ts";
import { registerCamera, TestCluster } from "../cluster.fixture.ts";

const camera = await startCamera({ fps: 10 });
after(() => camera.kill());
const cluster = await TestCluster.start(0, {
  ...{ WINDHOVER_CLUSTER_PROCESSES: "1", WINDHOVER_HTTP_TRUSTED_PROXIES: "127.0.0.1" },
  // A recording would be one more reader of a stream.
  WINDHOVER_RECORDINGS_ENABLED: "false",
});
after(() => cluster.close());

export const { databaseUrl } = cluster;
export const first = await cluster.add({ WINDHOVER_MEDIA_HOSTS: "cams-a.example" });
export const second = await cluster.add({ WINDHOVER_CLUSTER_LABELS: "site=b" });
export const yard = await registerCamera(first, camera.url);
