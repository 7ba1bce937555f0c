// The examples in the README of each package, run as they stand.
import assert from "node:assert/strict";
import fs from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { required } from "../lib/environment.mjs";
import { within } from "../lib/until.mjs";
import { scenario } from "./lib.mjs";

const CLIENTS = fileURLToPath(new URL("../../clients", import.meta.url));

/** The only block of this language on a page. */
async function example(page, language) {
  const text = await fs.readFile(path.join(CLIENTS, page), "utf8");
  const blocks = [...text.matchAll(new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\``, "gms"))];
  assert.equal(blocks.length, 1, page);
  return blocks[0][1];
}

/** Runs a program in the home of the world, where it finds its packages. */
async function expectYes(world, program, file, text, env) {
  await fs.writeFile(path.join(world.home, file), text);
  const run = world.spawn(program, [path.join(world.home, file)], { env: { ...world.env, ...env } });
  const { code } = await within("the example ending", run.exited);
  assert.deepEqual([code, run.stdout, run.stderr], [0, "Yes\n", ""]);
}

scenario("typescript: the example of the README", async (world) => {
  await fs.mkdir(path.join(world.home, "node_modules"));
  await fs.symlink(path.join(CLIENTS, "typescript"), path.join(world.home, "node_modules/answerback-client"));
  await expectYes(world, process.execPath, "example.mjs", await example("typescript/README.md", "js"), {});
});

scenario("python: the example of the README", async (world) => {
  const python = path.join(required("ANSWERBACK_TEST_PYTHON"), "bin/python");
  const env = { PYTHONPATH: path.join(CLIENTS, "python"), PYTHONDONTWRITEBYTECODE: "1" };
  await expectYes(world, python, "example.py", await example("python/README.md", "python"), env);
});
