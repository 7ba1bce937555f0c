// The person's preferences in this browser.

import { signOut, version } from "./api.js";
import { announce, dialog, h } from "./dom.js";
import { lasting } from "./storage.js";

const STORED = "answerback.preferences";

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
      return true;
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
 * @param {() => Promise<boolean>} turnOn
 */
function toggle(name, label, isOn, turnOn) {
  const box = h("input", { type: "checkbox", id: name, role: "switch", checked: isOn });
  box.addEventListener("change", async () => {
    if (box.checked) box.checked = await turnOn();
    prefer({ [name]: box.checked });
  });
  return h("div", { class: "setting" }, h("label", { for: name }, label), box);
}

async function askForNotifications() {
  try {
    if ((await Notification.requestPermission()) !== "granted") return false;
    // Some browsers grant the permission, but throw here. There is no other way to find out.
    new Notification("Answerback", { body: "You will be notified of questions like this.", icon: "/page/icon-192.png", tag: "answerback" });
    return true;
  } catch {
    announce("This browser does not let the page notify you");
    return false;
  }
}
