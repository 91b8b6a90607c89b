/** Files with one JSON message per line: a recorded flight. */
import { type FileReading, type FormatParameters, readLines, TelemetryFault, type TelemetryFormat } from "./format.ts";

/**
 * An incomplete last line, as of a recording that was interrupted, is passed over. Throws `TelemetryFault` with the number of
 * the line.
 */
export const readMessageLines = (create: (parameters: FormatParameters) => TelemetryFormat) =>
  function* (bytes: Uint8Array, parameters: FormatParameters): Generator<FileReading | null> {
    const format = create(parameters);
    let failed: { readonly number: number; readonly fault: TelemetryFault } | null = null;
    for (const { line, number } of readLines(bytes)) {
      if (line.trim() === "") {
        yield null;
        continue;
      }
      if (failed !== null) throw describeFault(failed);
      try {
        yield format.read(line, null);
      } catch (error) {
        if (!(error instanceof TelemetryFault)) throw error;
        failed = { number, fault: error };
        // Any other fault than invalid JSON has nothing to do with an interruption.
        if (error.faults.length > 0 || number === 1) throw describeFault(failed);
      }
    }
  };

function describeFault({ number, fault }: { readonly number: number; readonly fault: TelemetryFault }): TelemetryFault {
  return new TelemetryFault(`Line ${number}: ${fault.message}`, fault.faults);
}
