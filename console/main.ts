import { render } from "preact";
import { App } from "./app.ts";
import { html } from "./html.ts";
import { followLinks } from "./router.ts";
import { resumeSession } from "./session.ts";
import { followTheme } from "./theme.ts";

followTheme();
followLinks();
render(html`<${App} />`, document.body);
void resumeSession();
