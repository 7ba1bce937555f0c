// Starts the page and connects its parts.

import { addressOf, here, note } from "./address.js";
import { isSignedIn, onSignedOut } from "./api.js";
import * as attention from "./attention.js";
import { AwayLine } from "./away.js";
import { byId, fill, h, icon } from "./dom.js";
import * as drafts from "./draft.js";
import { History } from "./history.js";
import { Inbox } from "./inbox.js";
import { followKeyboard } from "./keyboard.js";
import { listen, showKeys } from "./keys.js";
import { Live } from "./live.js";
import { paired } from "./paired.js";
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

/** @param {boolean} isPaired this device was paired just now */
function start(isPaired) {
  const ended = new AbortController();
  drafts.forgetOthers();
  const inbox = new Inbox({
    changed: attention.count,
    arrived: (ask) => attention.call(ask, live.callsPeople),
    settled: attention.done,
    went: (place, replaces) => went({ view: "inbox", ...place }, replaces),
  });
  const past = new History((filter, replaces) => went({ view: "history", filter }, replaces));
  const awayLine = new AwayLine(ended.signal);
  const lost = h("p", { class: "banner", role: "alert", hidden: true });
  let isHistory = false;
  const isInbox = () => !isHistory;
  // Both stay in the document, and with them their frames, scroll positions and texts.
  fill(main, lost, awayLine.element, isPaired && paired(), inbox.element, past.element);
  // The links lead to where the person was in the other view.
  const went = (/** @type {import("./address.js").Place} */ place, /** @type {boolean} */ replaces) => {
    // The inbox goes on while the history is shown.
    if (place.view === (isHistory ? "history" : "inbox")) note(place, replaces);
    byId(place.view === "inbox" ? "to-inbox" : "to-history").setAttribute("href", addressOf(place));
  };
  const route = (search = false) => {
    const place = here();
    isHistory = place.view === "history";
    // An older form of the address may have led here.
    went(place, true);
    inbox.element.hidden = !isInbox();
    past.element.hidden = isInbox();
    main.classList.toggle("is-inbox", isInbox());
    for (const [id, isCurrent] of /** @type {[string, boolean][]} */ ([["to-inbox", isInbox()], ["to-history", !isInbox()]])) {
      if (isCurrent) byId(id).setAttribute("aria-current", "page");
      else byId(id).removeAttribute("aria-current");
    }
    if (isInbox()) inbox.show(place.ask, place.filter);
    else past.show(place.filter, search);
  };
  const live = new Live({ list: (asks) => (inbox.list(asks), awayLine.refresh()), event: (event) => inbox.event(event), state: (state) => showConnection(state, lost) });
  const show = (/** @type {boolean} */ isVisible) => SIGNED_IN_PARTS.forEach((id) => (byId(id).hidden = !isVisible));
  show(true);
  // Other fragments are ordinary links within the page.
  addEventListener("hashchange", () => /^#(\/|ask=|$)/.test(location.hash || "#") && route(), { signal: ended.signal });
  onSignedOut(() => {
    if (ended.signal.aborted) return;
    live.stop();
    ended.abort();
    drafts.forgetOthers();
    attention.count(0);
    show(false);
    notSignedIn(main, "This browser was signed out.");
  });
  const go = (/** @type {"inbox" | "history"} */ view) => {
    const address = byId(view === "inbox" ? "to-inbox" : "to-history").getAttribute("href");
    if (address !== location.hash) history.pushState(null, "", address);
    route(view === "history");
  };
  listen({ inbox, isInbox, show: go }, ended.signal);
  route();
}

/**
 * @param {import("./live.js").Connection} state
 * @param {HTMLElement} lost
 */
function showConnection(state, lost) {
  const shown = byId("connection");
  if (shown.dataset.state === state) return;
  shown.dataset.state = state;
  shown.textContent = CONNECTION[state];
  lost.hidden = state !== "offline";
  if (state === "offline") fill(lost, icon("warning"), h("span", {}, "The daemon does not answer. The page keeps your text and reconnects by itself. To find out more: ", h("code", {}, "answerback doctor")));
}

applyTheme();
followKeyboard();
// The person may paste a link with a code into the address bar of an open page.
addEventListener("hashchange", () => hasCode() && location.reload());
byId("show-keys").append(icon("keyboard"));
byId("show-keys").addEventListener("click", showKeys);
byId("show-settings").append(icon("settings"));
byId("show-settings").addEventListener("click", showSettings);
const { problem, isPaired } = await useCode(main);
if (isSignedIn()) start(isPaired);
else notSignedIn(main, problem);
