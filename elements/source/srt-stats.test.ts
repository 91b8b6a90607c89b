import assert from "node:assert/strict";
import { test } from "node:test";
import { readSrtStats } from "./srt-stats.ts";

/** As GStreamer 1.22 writes them. */
const CALLER = String.raw`"application/x-srt-statistics\,\ packets-sent\=\(gint64\)0\,\ negotiated-latency-ms\=\(int\)125\,\ packets-received\=\(gint64\)441\,\ packets-received-lost\=\(int\)7\,\ packet-ack-sent\=\(int\)71\,\ bandwidth-mbps\=\(double\)8.17\,\ rtt-ms\=\(double\)0.085\,\ bytes-received-total\=\(guint64\)551780\;"`;
const LISTENER = String.raw`"application/x-srt-statistics\,\ callers\=\(GValueArray\)\<\ \"application/x-srt-statistics\\\,\\\ negotiated-latency-ms\\\=\\\(int\\\)200\\\,\\\ packets-received\\\=\\\(gint64\\\)361\\\,\\\ packets-received-lost\\\=\\\(int\\\)0\\\,\\\ rtt-ms\\\=\\\(double\\\)12.5\\\,\\\ caller-address\\\=\\\(GSocketAddress\\\)NULL\\\;\"\ \>\,\ bytes-received-total\=\(guint64\)446500\;"`;

test("reads the statistics of a caller and of a listener", () => {
  assert.deepEqual(readSrtStats(CALLER), {
    ...{ round_trip_ms: 0.085, packets_received: 441, packets_lost: 7, latency_ms: 125 },
  });
  assert.deepEqual(readSrtStats(LISTENER), {
    ...{ round_trip_ms: 12.5, packets_received: 361, packets_lost: 0, latency_ms: 200 },
  });
});

test("there are none without a connection", () => {
  for (const text of ["", "NULL", String.raw`"application/x-srt-statistics\,\ bytes-received-total\=\(guint64\)0\;"`])
    assert.equal(readSrtStats(text), null);
});
