/** What is used of OpenTelemetry. Imported only when there is a collector. */
export { ROOT_CONTEXT, SpanKind, trace } from "@opentelemetry/api";
export { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
export { resourceFromAttributes } from "@opentelemetry/resources";
export {
  BatchSpanProcessor,
  ParentBasedSampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from "@opentelemetry/sdk-trace";
