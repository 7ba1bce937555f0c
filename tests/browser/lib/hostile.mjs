// Strings that have hurt pages: markup, handlers, schemes, templates, controls, encodings, and combinations of them. And what notices that
// one of them did something.
import assert from "node:assert/strict";
import { until } from "../../lib/until.mjs";

const CALL = "top.hit()";
const TAGS = ["script", "img", "svg", "iframe", "object", "embed", "video", "audio", "body", "details", "input", "select", "marquee", "math", "style", "link", "base", "meta", "form", "template"];
const HANDLERS = ["onerror", "onload", "onfocus", "ontoggle", "onmouseover", "onanimationstart", "onpointerenter", "onbegin"];

/** All of them. Those that try to get out go to this address. @param {string} outside */
export function hostile(outside) {
  const markup = TAGS.flatMap((tag) => [
    `<${tag} src=x onerror=${CALL} onload=${CALL} autofocus onfocus=${CALL}>`,
    `"><${tag} src="${outside}" href="${outside}" data="${outside}"></${tag}>`,
    `</textarea></title></style></script><${tag}>${CALL}</${tag}>`,
  ]);
  const handlers = HANDLERS.flatMap((handler) => [`<svg ${handler}=${CALL}>`, `' ${handler}='${CALL}' x='`, `" ${handler}="${CALL}" x="`, `<details open ${handler}="${CALL}"><summary>x</summary></details>`]);
  const schemes = ["javascript", "JaVaScRiPt", "java\tscript", "data", "vbscript", "blob", "file", "view-source"].flatMap((scheme) => [
    `${scheme}:${CALL}`,
    `[click](${scheme}:${CALL})`,
    `![image](${scheme}:text/html,<script>${CALL}</script>)`,
    `<a href="${scheme}:${CALL}">x</a>`,
  ]);
  const direct = ["img", "link", "script", "iframe"].map((tag) => `<${tag} src=${outside} href=${outside} rel=stylesheet>`);
  const templates = ["{{constructor.constructor('top.hit()')()}}", "${top.hit()}", "<%= top.hit() %>", "#{top.hit()}", "{%raw%}", "__proto__", "constructor", "toString", "hasOwnProperty", "[object Object]"];
  const controls = ["\u202eevil\u202c", "\u2066abc\u2069", "\u200b\u200d\ufeff", "\u0007\u001b]52;c;aGk=\u0007", "\u001b[31mred", "a\u0300".repeat(200), "\ud83d\ude00".repeat(300), "\ufdfd".repeat(50), "م".repeat(300), "漢字".repeat(400), "ก็".repeat(200), "\u0085\u2028\u2029x"];
  const shapes = ["w".repeat(16_000), "( ".repeat(4000), "`".repeat(3000), "*".repeat(3001), "[".repeat(2000), `${"#".repeat(6)} ${"-".repeat(500)}`, "> ".repeat(500), "1. ".repeat(500), "```\n".repeat(301), "\n".repeat(500) + "x", "\t".repeat(500) + "x", "&lt;script&gt;top.hit()&lt;/script&gt;", "&#x3c;img src=x onerror=top.hit()&#x3e;", "%3Cscript%3Etop.hit()%3C/script%3E", "\\u003cscript\\u003etop.hit()\\u003c/script\\u003e"];
  const styles = [`<style>*{background:url(${outside})}</style>`, `x" style="background:url(${outside})`, `</style><style>@import '${outside}';</style>`, `expression(${CALL})`];
  const documents = [`<!doctype html><html><body onload=${CALL}><img src=${outside}></body></html>`, `<div><script src="${outside}"></script></div>`, `<svg xmlns="http://www.w3.org/2000/svg"><script>${CALL}</script><image href="${outside}"/></svg>`, `<form action="${outside}"><button autofocus onfocus=${CALL}>x</button></form>`, `<p><meta http-equiv="refresh" content="0;url=${outside}"></p>`, `<ul><li><iframe srcdoc="<script>parent.hit()</script>"></iframe></li></ul>`];

  // A question must be told from the others by its text.
  return [...new Set([...markup, ...handlers, ...schemes, ...direct, ...templates, ...controls, ...shapes, ...styles, ...documents, ...Array.from({ length: 30 }, (_, n) => `<x${n} ${HANDLERS[n % HANDLERS.length]}=${CALL}><!--${n}--><![CDATA[${CALL}]]>`)])];
}

/** How often a script on this page has called `hit()`, from any frame. @param {import("playwright-core").Page} page */
export async function countHits(page) {
  const counter = { hits: 0 };
  await page.exposeFunction("hit", () => void (counter.hits += 1));
  await page.evaluate("hit()");
  assert.equal(counter.hits, 1, "a hit on this page is counted");
  counter.hits = 0;
  return counter;
}

/**
 * Nothing on this page has reached `outside`. What was set off is sent before the visit at the end, because both go through the same
 * browser. The visit also proves that a connection is counted.
 * @param {import("playwright-core").Page} page
 * @param {import("./elsewhere.mjs").Elsewhere} outside
 */
export async function expectUnreached(page, outside) {
  await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
  assert.equal(outside.connections, 0);
  const visitor = await page.context().newPage();
  await visitor.goto(`${outside.url}/visit`);
  await visitor.close();
  assert.deepEqual(outside.requests.filter(({ path }) => path !== "/favicon.ico").map(({ path }) => path), ["/visit"]);
  assert.ok(outside.connections > 0);
}

/**
 * Closes a page on which hostile strings run. Some of them navigate, and a page that is closed in the middle of that may never say that it
 * is closed.
 * @param {import("playwright-core").Page} page
 */
export async function leave(page) {
  await until("the page to be empty", () => page.goto("about:blank").then(() => true, () => false));
  await page.close();
}
