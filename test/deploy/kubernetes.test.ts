/** The manifests in deploy/kubernetes fit the schemas of Kubernetes, each other, and the settings of the service. */
import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { test } from "node:test";
import { parse } from "yaml";
import { CONFIG_KEYS, type ConfigFault, checkSetting } from "../../server/config/keys.ts";
import { readEnvironment } from "../../server/config/read-settings.ts";
import { listMetrics } from "../docker/metric-names.ts";
import { readQuery } from "../docker/promql.ts";
import { temporaryFolder } from "../graph.fixture.ts";
import { checkTypes, FOLDER, kustomization, type Manifest, read, readManifests } from "./kubernetes.ts";

const manifests = kustomization.resources.flatMap((file) => readManifests(read(file)));
const find = (kind: string, name = "windhover"): Manifest =>
  manifests.find((one) => one.kind === kind && one.metadata.name === name) ?? assert.fail(`${kind} ${name}`);
const set = find("StatefulSet");
const pod = set.spec.template.spec;
const [container] = pod.containers;
const config: Readonly<Record<string, string>> = find("ConfigMap").data;
const folder = temporaryFolder();

test("kustomization.yaml lists every manifest, and the image of the pods", () => {
  const files = readdirSync(FOLDER).filter((name) => name.endsWith(".yaml") && name !== "kustomization.yaml");
  assert.deepEqual([...kustomization.resources].sort(), files.sort());
  assert.deepEqual(
    kustomization.images.map(({ name }) => name),
    [container.image],
  );
});

test("every manifest fits the schema of its kind", () => {
  assert.deepEqual(checkTypes(manifests, folder), []);
});

test("the check rejects unknown fields, wrong types and missing fields, at any depth", () => {
  const changed = (change: (manifest: Manifest) => void): Manifest => {
    const copy = structuredClone(set);
    change(copy);
    return copy;
  };
  const faults = checkTypes(
    [
      changed(({ spec }) => (spec.replica = 3)),
      changed(({ spec }) => (spec.template.spec.containers[0].livenesProbe = {})),
      changed(({ spec }) => (spec.template.spec.containers[0].resources.limits.cpu = 4)),
      changed(({ spec }) => delete spec.selector),
    ],
    folder,
  );
  const words = [
    /"replica"' does not exist/,
    /"livenesProbe"' does not exist/,
    /'number' is not assignable/,
    /'selector'/,
  ];
  assert.equal(faults.length, words.length, faults.join("\n"));
  for (const [index, word] of words.entries()) assert.match(faults[index] ?? "", word);
});

test("selectors, ports, volumes and references fit each other", () => {
  const labels = set.spec.template.metadata.labels;
  assert.deepEqual(set.spec.selector.matchLabels, labels);
  assert.deepEqual(find("PodDisruptionBudget").spec.selector.matchLabels, labels);
  const ports = new Set(container.ports.map(({ name }: { name: string }) => name));
  for (const name of ["windhover", "windhover-nodes"]) {
    const { selector, ports: served } = find("Service", name).spec;
    assert.deepEqual(selector, labels);
    for (const { targetPort } of served) assert.ok(ports.has(targetPort), `${name}: ${targetPort}`);
  }
  const headless = find("Service", set.spec.serviceName).spec;
  assert.equal(headless.clusterIP, "None");
  assert.equal(headless.publishNotReadyAddresses, true, "a node that drains is reached by the others");
  for (const { configMapRef, secretRef } of container.envFrom)
    assert.ok(configMapRef ? find("ConfigMap", configMapRef.name) : find("Secret", secretRef.name));
  const volumes = [...pod.volumes, ...set.spec.volumeClaimTemplates.map(({ metadata }: Manifest) => metadata)];
  assert.deepEqual(
    container.volumeMounts.map(({ name }: { name: string }) => name).sort(),
    volumes.map(({ name }) => name).sort(),
  );
  assert.deepEqual(find("HorizontalPodAutoscaler").spec.scaleTargetRef, {
    ...{ apiVersion: set.apiVersion, kind: set.kind, name: set.metadata.name },
  });
});

test("the service accepts its settings; placeholders of secrets do not start it", () => {
  const isKnown = (name: string) =>
    !name.startsWith("WINDHOVER_STORAGE_") || CONFIG_KEYS.some(({ path }) => path[0] === "storage");
  const secrets: Readonly<Record<string, string>> = find("Secret").stringData;
  const given = { ...config, ...secrets, WINDHOVER_CLUSTER_URL: "http://10.0.0.7:8080" };
  const faults: ConfigFault[] = [];
  const names = Object.keys(given).filter((name) => !name.startsWith("AWS_") && isKnown(name));
  const taken = readEnvironment(
    Object.fromEntries(Object.entries(given).filter(([name]) => names.includes(name))),
    faults,
  );
  assert.deepEqual([...faults, ...taken.map(checkSetting).filter(Boolean)], []);
  assert.equal(pod.enableServiceLinks, false, "WINDHOVER_PORT … would be unknown settings");
  assert.ok(!/^[0-9a-f]{64}$/.test(secrets.WINDHOVER_SECRETS_KEY ?? ""));
});

test("a pod has more time to end than to drain; capacity is below its resources", () => {
  const drainSeconds = Number(config.WINDHOVER_CLUSTER_DRAIN_SECONDS);
  assert.ok(pod.terminationGracePeriodSeconds >= drainSeconds + 60);
  const { requests, limits } = container.resources;
  assert.ok(Number(config.WINDHOVER_CLUSTER_CORES) <= 0.85 * Number(requests.cpu));
  const gibibytes = Number(/^(\d+)Gi$/.exec(limits.memory)?.[1]);
  assert.ok(Number(config.WINDHOVER_CLUSTER_MEMORY_BYTES) <= 0.85 * gibibytes * 2 ** 30);
});

test("liveness does not depend on the database, readiness does, and the start may migrate it", () => {
  const pathOf = (probe: string): string => container[probe].httpGet.path;
  assert.deepEqual(["startupProbe", "livenessProbe", "readinessProbe"].map(pathOf), [
    ...["/healthz", "/healthz", "/readyz"],
  ]);
  const { periodSeconds, failureThreshold } = container.startupProbe;
  assert.ok(periodSeconds * failureThreshold >= 300);
});

test("pods have no privileges", () => {
  const { securityContext } = container;
  assert.equal(pod.securityContext.runAsNonRoot, true);
  assert.equal(pod.securityContext.seccompProfile.type, "RuntimeDefault");
  assert.deepEqual(securityContext.capabilities, { drop: ["ALL"] });
  assert.deepEqual([securityContext.allowPrivilegeEscalation, securityContext.readOnlyRootFilesystem], [false, true]);
  assert.equal(pod.automountServiceAccountToken, false);
});

test("the autoscaler uses metrics that the adapter makes of metrics of the service", async () => {
  const { rules } = parse(read("monitoring/prometheus-adapter-values.yaml")) as {
    rules: { external: readonly { seriesQuery: string; metricsQuery: string; name: { as: string } }[] };
  };
  const used = find("HorizontalPodAutoscaler").spec.metrics.map(
    ({ external }: { external: { metric: { name: string } } }) => external.metric.name,
  );
  assert.deepEqual(rules.external.map(({ name }) => name.as).sort(), used.sort());
  const metrics = await listMetrics();
  for (const { seriesQuery, metricsQuery } of rules.external)
    for (const query of [seriesQuery, metricsQuery.replaceAll("<<.LabelMatchers>>", 'namespace="windhover"')])
      for (const { metric } of readQuery(query).selections) assert.ok(metrics.has(metric), metric);
  const [monitor] = readManifests(read("monitoring/pod-monitor.yaml"));
  assert.deepEqual(monitor?.spec.selector.matchLabels, set.spec.template.metadata.labels);
});
