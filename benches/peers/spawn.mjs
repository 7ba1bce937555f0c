// Starts programs as Claude Code starts its hooks, and measures each from spawn to exit. The programs take turns.
//
//   node spawn.mjs <plan.json     {"input": "…", "rounds": 100, "programs": [{"command": ["…"], "env": {…}, "every": 1}]}
//
// It prints a list of times in milliseconds for each program.
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";

const { input, rounds, programs } = JSON.parse(readFileSync(0, "utf8"));

function run({ command, env }) {
  return new Promise((resolve, reject) => {
    const started = performance.now();
    const child = spawn(command[0], command.slice(1), { env, stdio: ["pipe", "pipe", "pipe"] });
    child.on("error", reject);
    // A program that ends without reading its input is fine.
    child.stdin.on("error", () => {});
    child.stdin.end(input);
    child.stdout.resume();
    child.stderr.resume();
    child.on("close", () => resolve(performance.now() - started));
  });
}

const times = programs.map(() => []);
for (let round = 0; round < rounds; round += 1) {
  for (const [index, program] of programs.entries()) {
    if (round % program.every === 0) times[index].push(await run(program));
  }
}
console.log(JSON.stringify(times));
