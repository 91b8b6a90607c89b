/** Files of tracks, for maps and tables. */
import { attempt } from "../../parts/toasts.ts";
import { ask } from "../../session.ts";

export async function downloadTracks(processUuid: string, format: "geojson" | "kml" | "csv"): Promise<void> {
  await attempt(async () => {
    const answer = await ask(`/process/${processUuid}/tracks?format=${format}`);
    const address = URL.createObjectURL(await answer.blob());
    const link = document.createElement("a");
    link.href = address;
    link.download = `tracks-${processUuid}.${format}`;
    link.click();
    URL.revokeObjectURL(address);
  });
}
