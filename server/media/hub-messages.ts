/** Words from the media hub, checked by their schema. */
import { Ajv2020 } from "ajv/dist/2020.js";
import { HubMessage } from "../../schemas/hub.ts";
import { OWN_SCHEMAS } from "../../schemas/own-schemas.ts";

const validate = new Ajv2020(OWN_SCHEMAS).compile<HubMessage>(HubMessage);

/** What the hub said; null when it is nothing that a hub of this version would say. */
export const readHubMessage = (said: unknown): HubMessage | null => (validate(said) ? said : null);
