// The person's preferences in this browser.

import { signOut, version } from "./api.js";
import { dialog, h } from "./dom.js";
import { lasting } from "./storage.js";

const STORED = "answerback.preferences";
/** The colours of the page, as in base.css. */
const BARS = { light: "#f6f5f1", dark: "#141517" };

/** @typedef {{ theme: "auto" | "light" | "dark", notify: boolean, sound: boolean }} Preferences */

/** @returns {Preferences} */
export function preferences() {
  try {
    return { theme: "auto", notify: false, sound: false, ...JSON.parse(lasting.get(STORED) ?? "{}") };
  } catch {
    return { theme: "auto", notify: false, sound: false };
  }
}

/** @param {Partial<Preferences>} change */
function prefer(change) {
  lasting.set(STORED, JSON.stringify({ ...preferences(), ...change }));
  applyTheme();
}

export function applyTheme() {
  const { theme } = preferences();
  if (theme === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  // Phones colour the bar above the page with it.
  for (const meta of document.querySelectorAll("meta[name=theme-color]")) {
    const scheme = theme === "auto" ? (meta.getAttribute("media")?.includes("dark") ? "dark" : "light") : theme;
    meta.setAttribute("content", BARS[scheme]);
  }
}

export function showSettings() {
  const now = preferences();
  const theme = h("select", { id: "theme" }, ...["auto", "light", "dark"].map((name) => h("option", { value: name, selected: name === now.theme }, name === "auto" ? "Same as system" : name === "light" ? "Light" : "Dark")));
  theme.addEventListener("change", () => prefer({ theme: /** @type {Preferences["theme"]} */ (theme.value) }));
  const about = h("p", { class: "faint" });
  version().then((running) => (about.textContent = `Answerback ${running.version}`), () => {});
  const leave = h("button", { type: "button", class: "quiet" }, "Sign out");
  const box = dialog(
    "Settings",
    h("div", { class: "setting" }, h("label", { for: "theme" }, "Colors"), theme),
    toggle("notify", "Notify me in this browser", now.notify, askForNotifications),
    toggle("sound", "Play a sound", now.sound, async () => {
      (await import("./attention.js")).chime();
      return "";
    }),
    h("footer", {}, about, leave),
  );
  leave.addEventListener("click", () => {
    box.close();
    void signOut();
  });
}

/**
 * @param {"notify" | "sound"} name
 * @param {string} label
 * @param {boolean} isOn
 * @param {() => Promise<string>} turnOn returns why it cannot be turned on; empty if it can
 */
function toggle(name, label, isOn, turnOn) {
  const box = h("input", { type: "checkbox", id: name, role: "switch", checked: isOn });
  const problem = h("p", { class: "fault", role: "status" });
  box.addEventListener("change", async () => {
    problem.textContent = box.checked ? await turnOn() : "";
    if (problem.textContent) box.checked = false;
    prefer({ [name]: box.checked });
  });
  return h("div", {}, h("div", { class: "setting" }, h("label", { for: name }, label), box), problem);
}

/** Returns why the browser does not notify; empty if it does. */
async function askForNotifications() {
  try {
    const permission = await Notification.requestPermission();
    if (permission === "denied") return "The browser blocks notifications of this page. Allow them in its settings for this site.";
    if (permission !== "granted") return "The browser has no permission to notify you yet. Turn this on again to be asked once more.";
    // Some browsers grant the permission, but throw here. There is no other way to find out.
    new Notification("Answerback", { body: "You will be notified of questions like this.", icon: "/page/icon-192.png", tag: "answerback" });
    return "";
  } catch {
    return "This browser does not let the page notify you.";
  }
}
