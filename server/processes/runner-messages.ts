/** Words between the server and a runner, checked by their schema. */
import { Ajv2020 } from "ajv/dist/2020.js";
import { OWN_SCHEMAS } from "../../schemas/own-schemas.ts";
import { RunnerMessage } from "../../schemas/runner.ts";

const validate = new Ajv2020(OWN_SCHEMAS).compile<RunnerMessage>(RunnerMessage);

/** What a runner said; null when it is nothing that a runner of this version would say. */
export const readMessage = (said: unknown): RunnerMessage | null => (validate(said) ? said : null);
