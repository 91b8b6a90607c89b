import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, test } from "node:test";
import { parse } from "yaml";
import { listMetrics } from "./metric-names.ts";
import { readQuery } from "./promql.ts";

const FOLDER = new URL("../../docker/", import.meta.url);
const read = (path: string): string => readFileSync(new URL(path, FOLDER), "utf8");

interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly datasource?: { readonly uid: string };
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly targets?: readonly { readonly expr: string; readonly legendFormat: string }[];
}
const dashboard = JSON.parse(read("grafana/dashboards/windhover.json")) as {
  readonly panels: readonly Panel[];
  readonly templating: { readonly list: readonly { readonly name: string; readonly definition: string }[] };
};
const metrics = await listMetrics();

/** Labels that Prometheus adds to every metric, and the metric that it creates itself. */
const ADDED = ["job", "instance"];
const OWN = "up";

function checkQuery(expression: string): readonly string[] {
  const { selections, groupedBy } = readQuery(expression);
  const faults = selections.length === 0 ? ["selects no metric"] : [];
  for (const { metric, labels } of selections) {
    const known = metric === OWN ? new Set<string>() : metrics.get(metric);
    if (known === undefined) faults.push(`unknown metric ${metric}`);
    for (const label of [...labels, ...groupedBy])
      if (known !== undefined && !known.has(label) && !ADDED.includes(label))
        faults.push(`${metric} has no label ${label}`);
  }
  return faults;
}

describe("a query is checked against the metrics of the service", () => {
  const cases: readonly [expression: string, faults: readonly string[]][] = [
    ['rate(windhover_process_frames_dropped_total{process=~"$process"}[$__rate_interval])', []],
    ["histogram_quantile(0.95, sum by (le, route) (rate(windhover_http_request_seconds_bucket[5m])))", []],
    ['8 * rate(windhover_media_bytes_total[1m]) / up{job="windhover"}', []],
    ["sum(windhover_processes_of_old)", ["unknown metric windhover_processes_of_old"]],
    ['windhover_process_fps_in{uuid="1"}', ["windhover_process_fps_in has no label uuid"]],
    ["sum by (queue) (windhover_delivery_waiting)", ["windhover_delivery_waiting has no label queue"]],
    ["sum(windhover_delivery_waiting) by (queue)", ["windhover_delivery_waiting has no label queue"]],
    ["windhover_http_request_seconds", ["unknown metric windhover_http_request_seconds"]],
    ["vector(1)", ["selects no metric"]],
  ];
  for (const [expression, faults] of cases) test(expression, () => assert.deepEqual(checkQuery(expression), faults));
});

test("every panel queries metrics of the service, and its legend uses labels of the result", () => {
  const faults = dashboard.panels.flatMap(({ title, type, targets = [] }) => [
    ...(type === "row" || targets.length > 0 ? [] : [`${title}: has no query`]),
    ...targets.flatMap(({ expr, legendFormat }) => [
      ...checkQuery(expr).map((fault) => `${title}: ${fault}`),
      ...[...legendFormat.matchAll(/\{\{(\w+)\}\}/g)].flatMap(([, label = ""]) => checkLegend(title, expr, label)),
    ]),
  ]);
  assert.deepEqual(faults, []);
});

function checkLegend(title: string, expression: string, label: string): readonly string[] {
  const { selections, groupedBy } = readQuery(expression);
  const isThere =
    groupedBy.length > 0 ? groupedBy.includes(label) : selections.some(({ metric }) => has(metric, label));
  return isThere ? [] : [`${title}: the result has no label ${label}`];
}
const has = (metric: string, label: string): boolean => metrics.get(metric)?.has(label) || ADDED.includes(label);

test("variables of the dashboard use metrics and labels of the service", () => {
  for (const { definition } of dashboard.templating.list) {
    const [, metric = "", label = ""] = /^label_values\((\w+), (\w+)\)$/.exec(definition) ?? [];
    assert.ok(metrics.get(metric)?.has(label), definition);
  }
  const names = new Set(dashboard.templating.list.map(({ name }) => name));
  for (const { targets = [] } of dashboard.panels)
    for (const { expr } of targets)
      for (const [, name = ""] of expr.matchAll(/\$(?!__)(\w+)/g)) assert.ok(names.has(name), expr);
});

test("shows nearly all metrics of the service", () => {
  const shown = new Set(
    dashboard.panels
      .flatMap(({ targets = [] }) => targets)
      .flatMap(({ expr }) => readQuery(expr).selections.map(({ metric }) => metric)),
  );
  const missing = [...metrics.keys()].filter((name) => name.startsWith("windhover_") && !shown.has(name));
  assert.deepEqual(missing.sort(), ["windhover_delivery_attempts_total", "windhover_http_request_seconds_sum"]);
});

test("panels do not overlap and use the provisioned data source", () => {
  const { datasources } = parse(read("grafana/provisioning/datasources/prometheus.yaml"));
  const taken = new Map<string, string>();
  for (const {
    title,
    type,
    datasource,
    gridPos: { x, y, w, h },
  } of dashboard.panels) {
    assert.ok(x + w <= 24, title);
    if (type !== "row") assert.equal(datasource?.uid, datasources[0].uid, title);
    for (let cell = 0; cell < w * h; cell++) {
      const place = `${x + (cell % w)},${y + Math.floor(cell / w)}`;
      assert.equal(taken.get(place), undefined, `${title} overlaps ${taken.get(place)}`);
      taken.set(place, title);
    }
  }
  const ids = dashboard.panels.map(({ id }) => id);
  assert.equal(new Set(ids).size, ids.length);
});
