// The real Chromium, one for each test file.
import path from "node:path";
import { pathToFileURL } from "node:url";

const modules = path.join(process.env.ANSWERBACK_TEST_BROWSER ?? "", "node_modules");
const load = (file) => import(pathToFileURL(path.join(modules, file)));
const { chromium } = await load("playwright-core/index.mjs");

// Without the rest it looks for its maker's servers at every start.
const FLAGS = ["--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];

let running;

async function browser() {
  const root = process.getuid() === 0 ? ["--no-sandbox"] : [];
  running ??= chromium.launch({ executablePath: process.env.ANSWERBACK_TEST_CHROMIUM ?? "/usr/bin/chromium", args: [...FLAGS, ...root] });
  return running;
}

export async function closeBrowser() {
  await (await running)?.close();
}

/** A profile of its own; `phone` is 360 px wide and touched. */
export async function browserContext({ phone = false, ...options } = {}) {
  const device = phone ? { viewport: { width: 360, height: 740 }, isMobile: true, hasTouch: true, deviceScaleFactor: 2 } : { viewport: { width: 1100, height: 860 } };
  return (await browser()).newContext({ reducedMotion: "no-preference", ...device, ...options });
}

export const axeSource = path.join(modules, "axe-core/axe.min.js");
