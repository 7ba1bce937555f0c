// Gets the person's attention: title and icon, and if they want, a notification and a sound.

import { addressOf } from "./address.js";
import { byId } from "./dom.js";
import * as kinds from "./kinds.js";
import { preferences } from "./settings.js";
import { lasting } from "./storage.js";

/** @param {number} open */
export function count(open) {
  document.title = open > 0 ? `(${open}) Answerback` : "Answerback";
  const badge = byId("count");
  badge.textContent = open > 99 ? "99+" : String(open);
  badge.hidden = open === 0;
  byId("favicon").setAttribute("href", open > 0 ? favicon(open > 9 ? "9+" : String(open)) : "/page/icon.svg");
}

/** @param {string} text */
function favicon(text) {
  const svg =
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 64 64"><rect width="64" height="64" rx="15" fill="#0f6e63"/>` +
    `<text x="32" y="47" font-family="system-ui,sans-serif" font-size="42" font-weight="700" text-anchor="middle" fill="#fff">${text}</text></svg>`;
  return `data:image/svg+xml,${encodeURIComponent(svg)}`;
}

/** Asks that arrive within this time share one notification. */
const PAUSE = 400;
/** @type {Ask[]} */
let waiting = [];
/** @type {Map<number, Notification>} */
const shown = new Map();

/** A tab stores here when somebody last looked at it. */
const LOOKED = "answerback.looked";

/**
 * Calls the person because of a new ask. Only the tab that they look at does this, or else the one tab with `callsPeople`.
 * @param {Ask} ask
 * @param {boolean} callsPeople
 */
export function call(ask, callsPeople) {
  if (document.hasFocus()) lasting.set(LOOKED, String(Date.now()));
  else if (!callsPeople) return;
  if (waiting.push(ask) > 1) return;
  setTimeout(() => {
    const asks = waiting;
    waiting = [];
    tell(asks);
  }, PAUSE);
}

/** Takes back the notification about a settled ask. @param {Ask} ask */
export function done(ask) {
  waiting = waiting.filter(({ id }) => id !== ask.id);
  const notification = shown.get(ask.id);
  shown.delete(ask.id);
  // One notification may be about several asks.
  if (notification && ![...shown.values()].includes(notification)) notification.close();
}

/** @param {Ask[]} asks */
function tell(asks) {
  const [first] = asks;
  const { notify, sound } = preferences();
  if (!first) return;
  const isSeen = document.hasFocus();
  // The person looks at another tab.
  if (!isSeen && Date.now() - Number(lasting.get(LOOKED) ?? 0) < 3 * PAUSE) return;
  if (sound) chime();
  if (!notify || isSeen) return;
  const { title, body } = kinds.notification(asks);
  try {
    const notification = new Notification(title, { body, tag: first.key, icon: "/page/icon-192.png" });
    for (const { id } of asks) shown.set(id, notification);
    notification.onclick = () => {
      window.focus();
      location.hash = addressOf({ view: "inbox", ask: first.key });
      notification.close();
    };
  } catch {
    // The person no longer allows it, or this browser never does.
  }
}

/** Two soft tones. */
export function chime() {
  const audio = new AudioContext();
  [660, 880].forEach((frequency, index) => {
    const start = audio.currentTime + index * 0.14;
    const tone = audio.createOscillator();
    const volume = audio.createGain();
    tone.frequency.value = frequency;
    volume.gain.setValueAtTime(0, start);
    volume.gain.linearRampToValueAtTime(0.08, start + 0.02);
    volume.gain.exponentialRampToValueAtTime(0.0001, start + 0.35);
    tone.connect(volume).connect(audio.destination);
    tone.start(start);
    tone.stop(start + 0.4);
  });
  setTimeout(() => audio.close(), 1000);
}
