/** Traces by OpenTelemetry: sent to a collector by OTLP over HTTP. Its packages are only loaded when there is a collector. */
import type { Context, Span as OtelSpan, SpanContext, Tracer } from "@opentelemetry/api";
import type { SpanExporter } from "@opentelemetry/sdk-trace";
import type { Logger } from "pino";
import type { Config } from "../../schemas/config.ts";
import { maskCredentials } from "../../schemas/mask.ts";
import type { Span, SpanAttributes, SpanEnd } from "./span.ts";

interface TracingDeps {
  readonly config: Config["tracing"];
  readonly log: Logger;
  readonly softwareVersion: string;
  readonly nodeUuid: string;
}

export interface Tracing {
  /** A request. `traceparent`: of the client, if it has sent one that is valid. */
  begin(name: string, traceparent: string | undefined, attributes: SpanAttributes): Span;
  /** Sends what is left, within a time limit. */
  close(): Promise<void>;
}

/** Of spans that wait to be sent; more are dropped. */
const QUEUE = 2048;
const BATCH = 512;
const DELAY_MS = 1_000;
const EXPORT_MS = 5_000;
/** Interval of warnings while the collector is unavailable. */
const WARN_MS = 60_000;
const PARENT = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/;

/** Null: nothing is traced. */
export async function openTracing({ config, log, softwareVersion, nodeUuid }: TracingDeps): Promise<Tracing | null> {
  const base = config.otlp_url ?? process.env.OTEL_EXPORTER_OTLP_ENDPOINT ?? "";
  if (base === "") return null;
  const sdk = await import("./sdk.ts");
  const url = `${base.replace(/(?<!\/)\/+$/, "")}/v1/traces`;
  const exporter = warnOnFailure(new sdk.OTLPTraceExporter({ url, timeoutMillis: EXPORT_MS }), url, log);
  const limits = { maxQueueSize: QUEUE, maxExportBatchSize: BATCH, exportTimeoutMillis: EXPORT_MS };
  const processor = new sdk.BatchSpanProcessor({ exporter, ...limits, scheduledDelayMillis: DELAY_MS });
  const provider = new sdk.TracerProvider({
    resource: sdk.resourceFromAttributes({
      "service.name": "windhover",
      "service.version": softwareVersion,
      "service.instance.id": nodeUuid,
    }),
    sampler: new sdk.ParentBasedSampler({ root: new sdk.TraceIdRatioBasedSampler(config.sample_ratio) }),
    spanProcessors: [processor],
  });
  const tracer = provider.getTracer("windhover", softwareVersion);
  const { ROOT_CONTEXT, trace, SpanKind } = sdk;
  log.info({ url: maskCredentials(url) }, "traces are sent");
  return {
    begin(name, traceparent, attributes) {
      const parent = readParent(traceparent);
      const context = parent === null ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, parent);
      const span = tracer.startSpan(name, { kind: SpanKind.SERVER, attributes: { ...attributes } }, context);
      return new TracedSpan(span, trace.setSpan(context, span), { tracer, withSpan: trace.setSpan });
    },
    close: () => provider.shutdown(),
  };
}

/** Null: it is not valid, so that the request begins a trace. */
export function readParent(header: string | undefined): SpanContext | null {
  const [, traceId = "", spanId = "", flags = ""] = PARENT.exec(header ?? "") ?? [];
  if (flags === "" || /^0+$/.test(traceId) || /^0+$/.test(spanId)) return null;
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & 1, isRemote: true };
}

interface SpanTools {
  readonly tracer: Tracer;
  withSpan(context: Context, span: OtelSpan): Context;
}

/** `SpanStatusCode.ERROR`. */
const FAILED = 2;

class TracedSpan implements Span {
  readonly #span: OtelSpan;
  readonly #context: Context;
  readonly #tools: SpanTools;

  constructor(span: OtelSpan, context: Context, tools: SpanTools) {
    this.#span = span;
    this.#context = context;
    this.#tools = tools;
  }

  get traceId(): string {
    return this.#span.spanContext().traceId;
  }

  get traceparent(): string {
    const { traceId, spanId, traceFlags } = this.#span.spanContext();
    return `00-${traceId}-${spanId}-0${traceFlags & 1}`;
  }

  start(name: string, attributes: SpanAttributes = {}, startMs?: number): Span {
    const times = startMs === undefined ? {} : { startTime: new Date(startMs) };
    const span = this.#tools.tracer.startSpan(name, { attributes: { ...attributes }, ...times }, this.#context);
    return new TracedSpan(span, this.#tools.withSpan(this.#context, span), this.#tools);
  }

  end({ error, attributes, name, endMs }: SpanEnd = {}): void {
    const span = this.#span;
    if (!span.isRecording()) return;
    if (name !== undefined) span.updateName(name);
    if (attributes !== undefined) span.setAttributes({ ...attributes });
    if (error !== undefined) span.setStatus({ code: FAILED, message: maskCredentials(error) });
    span.end(endMs === undefined ? undefined : new Date(endMs));
  }
}

/** The SDK itself is silent. */
function warnOnFailure(exporter: SpanExporter, url: string, log: Logger): SpanExporter {
  let warnedMs = Number.NEGATIVE_INFINITY;
  return {
    export: (spans, done) =>
      exporter.export(spans, (result) => {
        if (result.code !== 0 && performance.now() - warnedMs > WARN_MS) {
          warnedMs = performance.now();
          log.warn({ err: result.error, url: maskCredentials(url), spans: spans.length }, "traces could not be sent");
        }
        done(result);
      }),
    shutdown: () => exporter.shutdown(),
    ...(exporter.forceFlush !== undefined && { forceFlush: () => exporter.forceFlush?.() ?? Promise.resolve() }),
  };
}
