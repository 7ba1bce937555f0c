// Signing in: with a code from `answerback open`, or by pairing. Without a code the page explains how.

import { isThisMachine } from "./address.js";
import { awaitPairing, claimPairing, isSignedIn, onSignedIn, redeem, version } from "./api.js";
import { command, fill, h } from "./dom.js";

export const hasCode = () => /^#(launch|pair)=/.test(location.hash);

/**
 * Uses the code in the address, if there is one, and removes it from there. Resolves to the problem, which is empty if there is none, and to
 * whether this device was paired just now.
 * @param {HTMLElement} main
 * @returns {Promise<{ problem: string, isPaired: boolean }>}
 */
export async function useCode(main) {
  const found = new URLSearchParams(location.hash.slice(1));
  const launch = found.get("launch");
  const pair = found.get("pair");
  if (!launch && !pair) return { problem: "", isPaired: false };
  history.replaceState(null, "", "/");
  try {
    if (pair) await pairWith(pair, main);
    // A browser that is signed in needs no other token.
    else if (launch && !(isSignedIn() && (await version().then(() => true, () => false)))) await redeem(launch);
    return { problem: "", isPaired: Boolean(pair) };
  } catch (error) {
    return { problem: /** @type {Error} */ (error).message, isPaired: false };
  }
}

/**
 * @param {string} code
 * @param {HTMLElement} main
 */
async function pairWith(code, main) {
  const { claim, check } = await claimPairing(code, deviceName());
  fill(
    main,
    h(
      "section",
      { class: "empty" },
      h("h1", {}, "Type this number in the terminal"),
      h("p", { class: "check", "aria-hidden": "true" }, h("span", {}, check.slice(0, 3)), h("span", {}, check.slice(3))),
      h("p", { class: "unseen" }, check.split("").join(" ")),
      h("p", {}, "It proves that you are pairing the device in your hand. This page continues by itself."),
    ),
  );
  await awaitPairing(claim);
}

/** A name that the person recognises. */
function deviceName() {
  const agent = navigator.userAgent;
  const device = ["iPhone", "iPad", "Android", "Macintosh", "Windows", "Linux"].find((name) => agent.includes(name)) ?? "Device";
  const browser = ["Firefox", "Edg", "Chrome", "Safari"].find((name) => agent.includes(name)) ?? "browser";
  return `${device === "Macintosh" ? "Mac" : device}, ${browser === "Edg" ? "Edge" : browser}`;
}

/**
 * @param {HTMLElement} main
 * @param {string} [problem]
 */
export function notSignedIn(main, problem) {
  onSignedIn(() => location.reload());
  const isLocal = isThisMachine();
  fill(
    main,
    h(
      "section",
      { class: "empty" },
      h("h1", {}, "This browser is not signed in"),
      problem && h("p", { class: "error" }, problem),
      h("p", {}, isLocal ? "Run this in a terminal. It opens the page and signs you in:" : "Run this on the computer where your agents work, and scan the code:"),
      h("p", {}, command(isLocal ? "answerback open" : "answerback pair")),
      h("p", { class: "faint" }, "A code works once, and only for a short time. The page gets its own token, which you can revoke."),
    ),
  );
}
