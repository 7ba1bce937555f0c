// The real Chromium and the real Firefox. A test file has its own, from when it first needs one.
import fs from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { required } from "../../lib/environment.mjs";

/** @typedef {"chromium" | "firefox"} BrowserName */
/** @typedef {{ browser?: BrowserName, phone?: boolean, wide?: boolean } & import("playwright-core").BrowserContextOptions} ProfileOptions */

const modules = path.join(required("ANSWERBACK_TEST_BROWSER"), "node_modules");

// Without the last four, Chromium contacts its maker's servers at every start.
const FLAGS = ["--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];

/** @type {Map<string, Promise<import("playwright-core").Browser>>} */
const running = new Map();
/** @type {string[]} */
const homes = [];

/**
 * Starts a browser, or finds the one that runs.
 * @param {string} name
 * @param {() => Promise<import("playwright-core").Browser>} start
 */
function started(name, start) {
  const found = running.get(name) ?? start();
  running.set(name, found);
  return found;
}

/** @param {string} name @returns {Promise<typeof import("playwright-core")>} */
function playwright(name) {
  return import(pathToFileURL(path.join(modules, name, "index.mjs")).href);
}

async function startChromium() {
  const { chromium } = await playwright("playwright-core");
  const root = process.getuid?.() === 0 ? ["--no-sandbox"] : [];
  return chromium.launch({ executablePath: process.env.ANSWERBACK_TEST_CHROMIUM ?? "/usr/bin/chromium", args: [...FLAGS, ...root] });
}

/**
 * Later versions of Playwright send every Firefox a command that the extended support release does not know
 * (`emulation.setMediaFeaturesOverride`), and get no further.
 * @param {Record<string, number>} preferences
 */
async function startFirefox(preferences) {
  const { firefox } = await playwright("playwright-for-firefox");
  // Firefox refuses a HOME that belongs to somebody else, and leaves files in every other.
  const home = await fs.mkdtemp(path.join(os.tmpdir(), "answerback-firefox-"));
  homes.push(home);
  // With this channel, Playwright drives a Firefox as its maker built it, through WebDriver BiDi.
  return firefox.launch({ channel: "moz-firefox", executablePath: process.env.ANSWERBACK_TEST_FIREFOX ?? "/usr/bin/firefox-esr", firefoxUserPrefs: preferences, env: { ...process.env, HOME: home } });
}

export async function closeBrowsers() {
  const browsers = await Promise.all(running.values());
  await Promise.all(browsers.map((browser) => browser.close()));
  await Promise.all(homes.map((home) => fs.rm(home, { recursive: true, force: true, maxRetries: 5 })));
}

/**
 * A browser profile of its own. A `phone` is 360 px wide and has a touch screen. On a `wide` screen, the page shows a list beside one card.
 * @param {ProfileOptions} [options]
 */
export async function browserContext({ browser = "chromium", phone = false, wide = false, ...options } = {}) {
  const viewport = phone ? { width: 360, height: 740 } : wide ? { width: 1440, height: 900 } : { width: 1000, height: 860 };
  return browser === "firefox" ? firefoxContext(phone, { viewport, ...options }) : chromiumContext(phone, { viewport, ...options });
}

/**
 * @param {boolean} phone
 * @param {import("playwright-core").BrowserContextOptions} options
 */
async function chromiumContext(phone, options) {
  const device = phone ? { isMobile: true, hasTouch: true, deviceScaleFactor: 2 } : {};
  return (await started("chromium", startChromium)).newContext({ reducedMotion: "no-preference", ...device, ...options });
}

/**
 * Firefox takes the colours, the motion and the kind of pointer from its preferences, so each combination is a Firefox of its own.
 * WebDriver BiDi does not tap: a touch screen is coarse for style sheets, and tests click on it.
 * @param {boolean} phone
 * @param {import("playwright-core").BrowserContextOptions} options
 */
async function firefoxContext(phone, { colorScheme, reducedMotion, ...options }) {
  const preferences = {
    "layout.css.prefers-color-scheme.content-override": colorScheme === "dark" ? 0 : 1,
    "ui.prefersReducedMotion": reducedMotion === "reduce" ? 1 : 0,
    ...(phone ? { "ui.primaryPointerCapabilities": 1, "ui.allPointerCapabilities": 1 } : {}),
  };
  const browser = await started(JSON.stringify(preferences), () => startFirefox(preferences));
  return browser.newContext(options);
}

export const axeSource = path.join(modules, "axe-core/axe.min.js");
