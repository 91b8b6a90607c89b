/** The property tests of telemetry formats, with large counts. */
import "../../telemetry/files.test.ts";
import "../../telemetry/misb-0601.test.ts";
