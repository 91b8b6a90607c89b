/** Files of tracks for maps and tables, fetched with the key in a header and not in an address that would be kept. */
import { say } from "../../parts/toasts.ts";
import { base, session } from "../../session.ts";

export async function downloadTracks(processUuid: string, format: "geojson" | "kml" | "csv"): Promise<void> {
  const headers = { api_key: session.value?.apiKey ?? "" };
  try {
    const answer = await fetch(`${base}/process/${processUuid}/tracks?format=${format}`, { headers });
    if (!answer.ok)
      throw new Error(((await answer.json()) as { detail?: string }).detail ?? `it answered ${answer.status}`);
    const address = URL.createObjectURL(await answer.blob());
    const link = document.createElement("a");
    link.href = address;
    link.download = `tracks-${processUuid}.${format}`;
    link.click();
    URL.revokeObjectURL(address);
  } catch (error) {
    say((error as Error).message, true);
  }
}
