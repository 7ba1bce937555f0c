// The real Chromium, one for each test file.
import path from "node:path";
import { pathToFileURL } from "node:url";
import { required } from "../../lib/environment.mjs";

/** @typedef {{ phone?: boolean } & import("playwright-core").BrowserContextOptions} ProfileOptions */

const modules = path.join(required("ANSWERBACK_TEST_BROWSER"), "node_modules");
/** @type {typeof import("playwright-core")} */
const { chromium } = await import(pathToFileURL(path.join(modules, "playwright-core/index.mjs")).href);

// Without the last four, Chromium contacts its maker's servers at every start.
const FLAGS = ["--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];

/** @type {Promise<import("playwright-core").Browser> | undefined} */
let running;

function browser() {
  const root = process.getuid?.() === 0 ? ["--no-sandbox"] : [];
  running ??= chromium.launch({ executablePath: process.env.ANSWERBACK_TEST_CHROMIUM ?? "/usr/bin/chromium", args: [...FLAGS, ...root] });
  return running;
}

export async function closeBrowser() {
  await (await running)?.close();
}

/** A browser profile of its own. A `phone` is 360 px wide and has a touch screen. @param {ProfileOptions} [options] */
export async function browserContext({ phone = false, ...options } = {}) {
  const device = phone ? { viewport: { width: 360, height: 740 }, isMobile: true, hasTouch: true, deviceScaleFactor: 2 } : { viewport: { width: 1100, height: 860 } };
  return (await browser()).newContext({ reducedMotion: "no-preference", ...device, ...options });
}

export const axeSource = path.join(modules, "axe-core/axe.min.js");
