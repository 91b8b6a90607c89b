import { render } from "preact";
import { App } from "./app.ts";
import { html } from "./html.ts";
import { say } from "./parts/toasts.ts";
import { followLinks } from "./router.ts";
import { resumeSession, session } from "./session.ts";
import { followTheme } from "./theme.ts";

followTheme();
followLinks();
render(html`<${App} />`, document.body);
resumeSession().catch((error: Error) => {
  session.value = null;
  say(error.message, true);
});
