// Copilot CLI reads .claude/settings.json, too, and starts the hooks in it for every tool. With ours it works as if we were not there.
import assert from "node:assert/strict";
import fs from "node:fs/promises";
import path from "node:path";
import { COPILOT } from "./lib/clients.mjs";
import { oneShot } from "./lib/drivers/one_shot.mjs";
import { expectIncludes } from "./lib/expect.mjs";
import { ResponsesApi } from "./lib/responses_api.mjs";
import { scenario } from "./lib/world.mjs";
import { ask, TWO_DATABASES as DATABASE } from "../lib/questions.mjs";
import { within } from "../lib/until.mjs";

scenario("Copilot CLI: a command runs, and the hook has no part in it", async (world) => {
  const heard = await world.listenToHooks();
  await world.coverAll();
  const model = new ResponsesApi("bash", { command: "echo 42 > made.txt && echo made", description: "Make a file" });
  await model.start();
  try {
    await fs.mkdir(path.join(world.home, ".copilot"));
    // It reads the settings of a project only if it trusts it.
    await fs.writeFile(path.join(world.home, ".copilot/config.json"), JSON.stringify({ trusted_folders: [world.project] }));
    const run = world.spawn(COPILOT, ["-p", "make a file", "--allow-all-tools"], { env: environment(world, model) });
    assert.deepEqual(await within("copilot -p ending", run.exited), { code: 0, signal: null });
    expectIncludes(String(await within("the result", model.result.promise)), "made");
    assert.equal(await world.file("made.txt"), "42\n");
    // It did start the hook.
    expectIncludes((await heard()).join(), "PreToolUse");
    assert.equal(`${run.stdout}${run.stderr}`.includes("answerback"), false, run.stdout + run.stderr);
    assert.equal(await fs.access(path.join(world.home, ".local/state/answerback/daemon.json")).then(() => "started", () => "not started"), "not started");
  } finally {
    model.stop();
  }
});

scenario("Copilot CLI: Claude Code in its shell still asks", async (world) => {
  world.extraEnv = { COPILOT_CLI: "1" };
  const call = ask(DATABASE);
  const run = oneShot(world, call);
  const [open] = await world.daemon.opened(call);
  await world.daemon.answer(open, { [DATABASE.question]: "SQLite" });
  expectIncludes((await world.shown(call)).result(call).text, "SQLite");
  await run.finish();
});

/** What makes it talk to the scripted model, and to nobody else. */
function environment(world, model) {
  return {
    ...world.env,
    COPILOT_OFFLINE: "true",
    COPILOT_PROVIDER_BASE_URL: model.url,
    COPILOT_PROVIDER_WIRE_API: "responses",
    COPILOT_PROVIDER_API_KEY: "dummy",
    COPILOT_MODEL: "gpt-5.4",
    COPILOT_AUTO_UPDATE: "false",
  };
}
