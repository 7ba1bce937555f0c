// The real Claude Code on an edge. Two hubs share PostgreSQL. The edge is linked with one of them, and a person answers at the other.
import assert from "node:assert/strict";
import { Postgres } from "../lib/postgres.mjs";
import { ask, TWO_DATABASES as DATABASE } from "../lib/questions.mjs";
import { within } from "../lib/until.mjs";
import { World } from "../lib/world.mjs";
import { oneShot } from "./lib/drivers/one_shot.mjs";
import { expectAnswered } from "./lib/expect.mjs";
import { scenario } from "./lib/world.mjs";

/**
 * Two hubs on one engine, and the world of the client as an edge of the first.
 * @param {import("./lib/world.mjs").ClientWorld} edge
 * @param {(near: World, far: World) => Promise<unknown>} body
 */
async function withHubs(edge, body) {
  const postgres = new Postgres();
  /** @type {World[]} */
  const hubs = [];
  try {
    const store = await postgres.start();
    for (const name of ["near", "far"]) {
      const hub = await World.create();
      hubs.push(hub);
      await hub.configure(`store = "${store}"\nhost_name = "${name}"\nlan_address = "0.0.0.0:0"\n`);
      // Any command starts the daemon.
      await hub.answerback("pending");
    }
    const [near, far] = hubs;
    const token = (await near.answerback("host", "add", "build-1")).trim().split(".")[0];
    const record = await near.daemon.record();
    assert.ok(record);
    const join = edge.spawn(`${edge.bin}/answerback`, ["join", record.url], { env: edge.personsEnv, stdin: "pipe" });
    join.child.stdin?.end(`${token}\n`);
    const { code } = await within("answerback join ending", join.exited);
    assert.equal(code, 0, join.stderr);
    await body(near, far);
  } finally {
    for (const hub of hubs) await hub.close();
    await postgres.stop();
  }
}

scenario("fleet: Claude asks on an edge, and a person answers at another hub than the edge's", (edge) =>
  withHubs(edge, async (_, far) => {
    const call = ask(DATABASE);
    const run = oneShot(edge, call);
    const [open] = await far.daemon.opened(call);
    assert.deepEqual([open.host, open.project, open.session], ["build-1", edge.project, run.session]);
    await far.daemon.answer(open, { [DATABASE.question]: "SQLite" });
    const shown = await edge.shown(call);
    await run.finish();
    expectAnswered(shown, call, { [DATABASE.question]: "SQLite" });
  }),
);
