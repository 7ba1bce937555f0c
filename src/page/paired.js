// What a device is told right after it was paired: how to keep the page at hand, and how it will learn of new questions.

import { setup } from "./api.js";
import { fill, h, icon } from "./dom.js";
import { showSettings } from "./settings.js";

/** The browser offers to install the page. It may say so at any time. @type {(Event & { prompt(): Promise<unknown> }) | null} */
let offer = null;
addEventListener("beforeinstallprompt", (event) => {
  event.preventDefault();
  offer = /** @type {any} */ (event);
});

/** Stands above the questions until the person closes it. */
export function paired() {
  const close = h("button", { type: "button", class: "icon-button", "aria-label": "Close" }, icon("close"));
  const told = h("p", {});
  const element = h("section", { class: "paired", "aria-label": "This device is signed in" }, h("header", {}, h("h2", {}, "This device is signed in"), close), home(), told);
  close.addEventListener("click", () => element.remove());
  void setup().then(
    ({ notify }) => fill(told, ...how(notify)),
    () => told.remove(),
  );
  return element;
}

function home() {
  if (matchMedia("(display-mode: standalone)").matches) return null;
  const isApple = /iPhone|iPad/.test(navigator.userAgent);
  const button = h("button", { type: "button" }, "Add to home screen");
  button.addEventListener("click", () => {
    if (offer) void offer.prompt();
    else button.replaceWith(h("span", {}, isApple ? "Tap Share, then “Add to Home Screen”." : "Open the menu of the browser, then “Add to Home screen”."));
  });
  return h("p", {}, "Keep Answerback at hand: ", button);
}

/** @param {string[]} ways */
function how(ways) {
  if (ways.includes("ntfy")) return ["New questions come to your phone as notifications of the ntfy app. You need not keep this page open."];
  const settings = h("button", { type: "button" }, "Turn on notifications");
  settings.addEventListener("click", showSettings);
  return ["While this page is open, it can tell you of new questions: ", settings, h("br"), "To be told while it is closed, set up the ntfy app. The page “Answer from your phone” of the documentation explains how."];
}
