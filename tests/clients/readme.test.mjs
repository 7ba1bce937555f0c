// The examples in the README of each package, run as they stand.
import assert from "node:assert/strict";
import fs from "node:fs/promises";
import path from "node:path";
import { test } from "node:test";
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

test("docs/hosts.md shows what is in the examples", async () => {
  const directory = path.join(CLIENTS, "examples");
  const names = (await fs.readdir(directory)).filter((name) => /\.(mjs|py)$/.test(name));
  const programs = await Promise.all(names.map((name) => fs.readFile(path.join(directory, name), "utf8")));
  const page = await fs.readFile(path.join(CLIENTS, "../docs/hosts.md"), "utf8");
  const blocks = [...page.matchAll(/^```(?:js|python)\n(.*?)^```/gms)].map(([, block]) => block);
  assert.equal(blocks.length, 2);
  for (const block of blocks) assert.ok(programs.some((program) => program.includes(block)), block);
});

test("the packages have the version of the daemon", async () => {
  const version = async (file, pattern) => (await fs.readFile(path.join(CLIENTS, file), "utf8")).match(pattern)?.[1];
  const expected = await version("../Cargo.toml", /^version = "(.+)"/m);
  assert.ok(expected);
  for (const [file, pattern] of [
    ["typescript/package.json", /"version": "(.+)"/],
    ["typescript/src/client.js", /"answerback-typescript\/(.+)"/],
    ["python/pyproject.toml", /^version = "(.+)"/m],
    ["python/answerback/client.py", /"answerback-python\/(.+)"/],
  ]) {
    assert.equal(await version(file, pattern), expected, `${file}`);
  }
});

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
