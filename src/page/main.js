// Puts the page together.

import { isSignedIn, onSignedOut } from "./api.js";
import * as attention from "./attention.js";
import { byId, fill, h, icon } from "./dom.js";
import { History } from "./history.js";
import { Inbox } from "./inbox.js";
import { listen, showKeys } from "./keys.js";
import { Live } from "./live.js";
import { applyTheme, showSettings } from "./settings.js";
import { hasCode, notSignedIn, useCode } from "./sign_in.js";

const main = byId("main");
const SIGNED_IN_PARTS = ["views", "connection", "show-keys", "show-settings"];

/** @type {Record<import("./live.js").Connection, string>} */
const CONNECTION = {
  connecting: "Connecting",
  live: "Live",
  retrying: "Reconnecting",
  offline: "No connection",
};

function start() {
  const inbox = new Inbox({ changed: attention.count, arrived: attention.call });
  const past = new History();
  const isInbox = () => !location.hash.startsWith("#/history");
  const lost = h("p", { class: "banner", role: "alert", hidden: true });
  const route = (search = false) => {
    const asked = new URLSearchParams(location.hash.slice(1)).get("ask");
    fill(main, lost, isInbox() ? inbox.element : past.element);
    byId("to-inbox").toggleAttribute("aria-current", isInbox());
    byId("to-history").toggleAttribute("aria-current", !isInbox());
    if (!isInbox()) past.show(search);
    if (asked) {
      history.replaceState(null, "", "#/");
      inbox.reveal(asked);
    }
  };
  const live = new Live({
    list: (asks) => inbox.list(asks),
    event: (event) => inbox.event(event),
    state(state) {
      const shown = byId("connection");
      shown.dataset.state = state;
      shown.textContent = CONNECTION[state];
      main.classList.toggle("lost", state === "offline");
      lost.hidden = state !== "offline";
      if (state === "offline") fill(lost, icon("warning"), h("span", {}, "The daemon does not answer. What you write is kept, and the page goes on by itself when it is back. To look: ", h("code", {}, "answerback doctor")));
    },
  });
  const show = (/** @type {boolean} */ visible) => SIGNED_IN_PARTS.forEach((id) => (byId(id).hidden = !visible));
  show(true);
  const away = new AbortController();
  addEventListener("hashchange", () => route(), { signal: away.signal });
  onSignedOut(() => {
    live.stop();
    away.abort();
    attention.count(0);
    show(false);
    notSignedIn(main, "This browser was signed out.");
  });
  listen({
    inbox,
    isInbox,
    show(view) {
      const changes = (view === "history") === isInbox();
      history.replaceState(null, "", view === "history" ? "#/history" : "#/");
      if (changes || view === "history") route(view === "history");
    },
  });
  route();
}

applyTheme();
// A code that is put into the address of a page that is already there.
addEventListener("hashchange", () => hasCode() && location.reload());
byId("show-keys").append(icon("keyboard"));
byId("show-keys").addEventListener("click", showKeys);
byId("show-settings").append(icon("settings"));
byId("show-settings").addEventListener("click", showSettings);
const problem = await useCode(main);
if (isSignedIn()) start();
else notSignedIn(main, problem);
