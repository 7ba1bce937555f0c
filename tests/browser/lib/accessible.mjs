// What axe says about a page.
import assert from "node:assert/strict";
import fs from "node:fs/promises";
import { axeSource } from "./browser.mjs";

/**
 * Fails if axe finds something serious on the page.
 * @param {import("playwright-core").Page} page
 * @param {string} state
 */
export async function expectAccessible(page, state) {
  // A colour on its way to another is no fault, and neither is something that is just appearing.
  await page.evaluate(() => {
    for (const each of document.getAnimations()) {
      if (each instanceof CSSTransition || (each instanceof CSSAnimation && each.animationName === "appear")) each.finish();
    }
  });
  // Through the debugger, because the page lets no foreign script in.
  await page.evaluate(await fs.readFile(axeSource, "utf8"));
  /** @type {{ violations: { id: string, impact: string, nodes: { html: string, failureSummary: string }[] }[] }} */
  const { violations } = await page.evaluate(() => /** @type {any} */ (globalThis).axe.run(document, { resultTypes: ["violations"] }));
  const found = violations.filter(({ impact }) => impact === "serious" || impact === "critical");
  assert.deepEqual(found.map(({ id, nodes }) => `${state}: ${id}: ${nodes.map(({ html, failureSummary }) => `${html} ${failureSummary}`).join("\n")}`), []);
}
