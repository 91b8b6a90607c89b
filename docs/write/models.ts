/** The models that come with Windhover, from their cards. */
import { listCardFiles } from "../../models/find-card.ts";
import { readCard } from "../../models/read-card.ts";
import { code, made, table } from "./markdown.ts";

export function writeModels(): string {
  const cards = listCardFiles()
    .filter(({ origin }) => origin === "windhover")
    .map(({ file }) => readCard(file));
  return [
    made("the cards below models/cards/"),
    "# Models",
    "Weights are fetched by the set-up and checked against the digest of their card; none are in this repository. `npx windhover models import` takes others: ONNX of the usual detector families.",
    table(
      ["Model", "What it is", "Licence", "Input", "Bytes"],
      cards.map(({ model, about, licence, input, bytes }) => [
        code(model),
        about,
        licence,
        `${input.width}×${input.height}, ${input.type}`,
        String(bytes),
      ]),
    ),
  ].join("\n\n");
}
