// What was measured of one version of Claude Code: kept for the page, and compared with what is expected of that version.
// A cell says what was seen. What a person could not accept in any version (a hook that is left behind) is a failure.
import assert from "node:assert/strict";
import fs from "node:fs";
import { after } from "node:test";
import { required } from "../../lib/environment.mjs";
import { scenario } from "../lib/world.mjs";

const version = required("ANSWERBACK_TEST_VERSION");
const expected = JSON.parse(fs.readFileSync(new URL("expected.json", import.meta.url), "utf8"))[version] ?? {};
const measured = {};

after(() => fs.writeFileSync(required("ANSWERBACK_TEST_MEASURED"), JSON.stringify(measured)));

/** A measurement resolves to some cells of the version, `{ name: value }`. */
export function measurement(name, body) {
  scenario(`${version}: ${name}`, async (world) => {
    const cells = await body(world);
    Object.assign(measured, cells);
    console.log(`${version} ${JSON.stringify(cells)}`);
    const due = Object.fromEntries(Object.keys(cells).map((cell) => [cell, expected[cell]]));
    assert.deepEqual(cells, due, "measured, and expected");
  });
}

export const yes = (condition) => (condition ? "yes" : "no");

/** What is measured of forms in a version without them. */
export const NO_HOOKS = "no hooks";

/** Covers forms. Resolves to false if the version has no hooks for them, which `install` must know. */
export async function coversForms(world, ...options) {
  return world.cover("--forms", ...options).then(
    () => true,
    (error) => {
      assert.match(error.message, /has no hooks for forms/);
      return false;
    },
  );
}

/** The result of a call, as the model was shown it. */
export async function result(world, call) {
  return (await world.shown(call)).result(call);
}

/** How the ask ended that nobody answered, with no hook left behind. */
export async function withdrawal(world, open) {
  const { outcome, receipt } = await world.daemon.settled(open);
  assert.equal(receipt, null);
  await world.noHookLeft();
  return outcome.kind;
}
