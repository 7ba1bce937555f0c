// kill -9 of the daemon at the worst moments: no question and no answer is lost, and the client notices nothing.
import assert from "node:assert/strict";
import path from "node:path";
import { agentSdk } from "./lib/drivers/agent_sdk.mjs";
import { oneShot } from "./lib/drivers/one_shot.mjs";
import { streamJson } from "./lib/drivers/stream_json.mjs";
import { expectAnswered } from "./lib/expect.mjs";
import { kill, processesOf } from "../lib/process.mjs";
import { ask, TWO_DATABASES as DATABASE, PLATFORMS } from "../lib/questions.mjs";
import { scenario } from "./lib/world.mjs";

scenario("the daemon is killed while a question waits: the hook starts it again and the answer arrives", async (world) => {
  const call = ask(DATABASE);
  const run = oneShot(world, call);
  const [before] = await world.daemon.opened(call);
  await world.daemon.restarted(await world.daemon.kill());
  const [after] = await world.daemon.opened(call);
  assert.deepEqual(after, before);
  await world.daemon.answer(after, { [DATABASE.question]: "SQLite" });
  const shown = await world.shown(call);
  await run.finish();
  expectAnswered(shown, call, { [DATABASE.question]: "SQLite" });
});

scenario("the daemon is killed while two questions wait: both hooks find one new daemon", async (world) => {
  const [first, second] = [ask(DATABASE), ask(PLATFORMS)];
  const client = streamJson(world);
  const turn = client.prompt(first, second);
  await world.daemon.opened(first, second);
  await world.daemon.restarted(await world.daemon.kill());
  const [one, two] = await world.daemon.opened(first, second);
  await world.daemon.answer(one, { [DATABASE.question]: "Postgres" });
  await world.daemon.answer(two, { [PLATFORMS.question]: ["Linux"] });
  const shown = await world.shown(first);
  await turn.finish();
  await client.close();
  expectAnswered(shown, first, { [DATABASE.question]: "Postgres" });
  expectAnswered(shown, second, { [PLATFORMS.question]: "Linux" });
});

scenario("the daemon is killed right after the 200 of an answer: the answer arrives", async (world) => {
  const call = ask(DATABASE);
  const run = agentSdk(world, [call]);
  const [open] = await world.daemon.opened(call);
  const { pid } = await world.daemon.record();
  await world.daemon.answer(open, { [DATABASE.question]: "SQLite" });
  // Nothing may come between: reading the pid first is what makes this "right after".
  assert.ok(kill(pid));
  const shown = await world.shown(call);
  await run.finish();
  expectAnswered(shown, call, { [DATABASE.question]: "SQLite" });
});

scenario("an answer given while the hook cannot listen outlives its daemon on disk alone", async (world) => {
  const call = ask(DATABASE);
  const run = oneShot(world, call);
  await world.daemon.opened(call);
  const [hook] = await processesOf(world.home, "answerback-hook");
  process.kill(hook, "SIGSTOP");
  const killed = await world.daemon.kill();
  world.spawn(path.join(world.bin, "answerback"), ["daemon"]);
  await world.daemon.restarted(killed);
  const [open] = await world.daemon.opened(call);
  await world.daemon.answer(open, { [DATABASE.question]: "Postgres" });
  await world.daemon.kill();
  process.kill(hook, "SIGCONT");
  const shown = await world.shown(call);
  await run.finish();
  expectAnswered(shown, call, { [DATABASE.question]: "Postgres" });
});
