// A project whose settings have the hook, on a machine that does not.
import fs from "node:fs/promises";
import path from "node:path";
import { within } from "../../lib/until.mjs";
import { ask, TWO_DATABASES as DATABASE } from "../../lib/questions.mjs";
import { Dialog } from "./dialog.mjs";
import { interactive } from "./drivers/interactive.mjs";
import { plainRun } from "./drivers/runs.mjs";

/** @typedef {import("./world.mjs").ClientWorld} ClientWorld */

/** Takes our programs away from the clients of this world: nothing of ours is in their path. @param {ClientWorld} world */
export async function withoutAnswerback(world) {
  const empty = path.join(world.home, "empty");
  await fs.mkdir(empty, { recursive: true });
  Object.assign(world, { bin: empty });
}

/** Puts a path into the settings at which there is nothing, as if somebody else had installed the hook. @param {ClientWorld} world */
export async function withPathOfAnother(world) {
  const file = path.join(world.project, ".claude/settings.json");
  const settings = JSON.parse(await fs.readFile(file, "utf8"));
  for (const hook of Object.values(settings.hooks).flat().flatMap((group) => group.hooks)) hook.command = "/home/ann/bin/answerback-hook";
  await fs.writeFile(file, JSON.stringify(settings, null, 2));
}

/**
 * A session at the terminal that asks and is answered there, and a run without a terminal. Resolves to everything that a person sees of
 * both that is about hooks.
 * @param {ClientWorld} world
 */
export async function complaints(world) {
  const terminal = await interactive(world, ask(DATABASE));
  const dialog = await Dialog.of(terminal, DATABASE.question);
  await dialog.leave("2");
  await terminal.shows(`${DATABASE.question} → SQLite`);
  await terminal.shows("done");
  // The hook at the end of the turn runs after this word, and says that it runs.
  const screen = await terminal.showsNo(/esc to inter|running stop hook/i);
  await terminal.close();
  const run = plainRun(world, []);
  const { code } = await within("claude -p ending", run.exited, 60_000);
  if (code !== 0 || run.stdout.trim() !== "done") throw new Error(`claude -p ended with ${code}: ${run.stdout}${run.stderr}`);
  return [...screen.split("\n"), ...run.stderr.split("\n")].filter((line) => /hook|answerback|not found|ENOENT/i.test(line) && !line.includes(world.project));
}
