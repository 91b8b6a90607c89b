import { checkModel } from "./check-model.ts";

const [, , card = "", weights = ""] = process.argv;
process.stdout.write(`${JSON.stringify(await checkModel(card, weights))}\n`);
