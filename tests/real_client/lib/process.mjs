import { spawn } from "node:child_process";
import fs from "node:fs/promises";
import { deferred } from "./deferred.mjs";
import { until } from "./until.mjs";

/** A child whose output is kept, and whose end is a promise. */
export class Process {
  stdout = "";
  stderr = "";
  #exit = deferred();

  constructor(command, args, options) {
    this.child = spawn(command, args, options);
    for (const stream of ["stdout", "stderr"]) {
      this.child[stream].setEncoding("utf8").on("data", (text) => (this[stream] += text));
    }
    // Writing to a client that has ended: its exit is what a test reports.
    this.child.stdin?.on("error", () => {});
    this.child.on("error", this.#exit.reject);
    this.child.on("close", (code, signal) => this.#exit.resolve({ code, signal }));
    // A child that nobody awaits yet must not bring the test runner down.
    this.#exit.promise.catch(() => {});
  }

  get exited() {
    return this.#exit.promise;
  }
}

/**
 * Kills everything that was started in the world with this HOME, and returns when it is all gone: a hook that outlives
 * its client would otherwise start the daemon again. HOME is a fresh scratch directory, so only our own processes match.
 */
export async function endProcessesOf(home) {
  await until(`every process with HOME=${home} has ended`, async () => {
    const pids = await processesOf(home);
    for (const pid of pids) kill(pid);
    return pids.length === 0;
  });
}

/** False when the process was gone already. */
export function kill(pid) {
  try {
    return process.kill(pid, "SIGKILL");
  } catch (error) {
    if (error.code === "ESRCH") return false;
    throw error;
  }
}

/** Resolves once a killed process is gone, with all it held. Somebody else's zombie is gone enough, once all its threads have ended. */
export function gone(pid) {
  return until(`process ${pid} being gone`, async () => {
    const stat = await fs.readFile(`/proc/${pid}/stat`, "utf8").catch(() => "");
    const threads = await fs.readdir(`/proc/${pid}/task`).catch(() => []);
    return stat === "" || (/\) [ZX] /.test(stat) && threads.length <= 1);
  });
}

/** The ids of the processes with this HOME, of those only whose command line names `program`. */
export async function processesOf(home, program = "") {
  const all = (await fs.readdir("/proc")).filter((name) => /^\d+$/.test(name)).map(Number);
  const ours = await Promise.all(all.map((pid) => isOurs(pid, home, program)));
  return all.filter((_, index) => ours[index]);
}

async function isOurs(pid, home, program) {
  try {
    const environ = await fs.readFile(`/proc/${pid}/environ`, "utf8");
    if (!environ.split("\0").includes(`HOME=${home}`)) return false;
    return (await fs.readFile(`/proc/${pid}/cmdline`, "utf8")).includes(program);
  } catch {
    // Gone meanwhile, or not ours to read.
    return false;
  }
}
