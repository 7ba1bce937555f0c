// The processes of a world, and how they end.
import { spawn } from "node:child_process";
import fs from "node:fs/promises";
import { deferred, until } from "./until.mjs";

/** @typedef {{ code: number | null, signal: NodeJS.Signals | null }} Exit */

/** A child process. Its output is kept, and its end is a promise. */
export class Process {
  stdout = "";
  stderr = "";
  /** @type {ReturnType<typeof deferred<Exit>>} */
  #exit = deferred();

  /**
   * @param {string} command
   * @param {string[]} args
   * @param {import("node:child_process").SpawnOptionsWithStdioTuple<"ignore" | "pipe", "pipe", "pipe">} options
   */
  constructor(command, args, options) {
    this.child = spawn(command, args, /** @type {import("node:child_process").SpawnOptionsWithStdioTuple<"pipe", "pipe", "pipe">} */ (options));
    this.child.stdout.setEncoding("utf8").on("data", (text) => (this.stdout += text));
    this.child.stderr.setEncoding("utf8").on("data", (text) => (this.stderr += text));
    // A write to a client that has ended fails. The test reports its exit instead. Without a pipe there is no stdin.
    this.child.stdin?.on("error", () => {});
    this.child.on("error", this.#exit.reject);
    this.child.on("close", (code, signal) => this.#exit.resolve({ code, signal }));
    // Nobody may be waiting for the end yet, and an unhandled rejection would stop the test runner. Everybody who waits gets the error.
    this.#exit.promise.catch(() => {});
  }

  get exited() {
    return this.#exit.promise;
  }
}

/**
 * Kills every process with this HOME, and returns when all are gone. A hook that outlived its client would start the daemon again.
 * HOME is a fresh scratch directory, so only processes of one world match.
 * @param {string} home
 */
export async function endProcessesOf(home) {
  await until(`every process with HOME=${home} has ended`, async () => {
    const pids = await processesOf(home);
    for (const pid of pids) kill(pid);
    return pids.length === 0;
  });
}

/** Returns false if the process was gone already. @param {number} pid */
export function kill(pid) {
  try {
    return process.kill(pid, "SIGKILL");
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code === "ESRCH") return false;
    throw error;
  }
}

/**
 * Resolves when a killed process is gone, with everything it held. A zombie that another process must reap counts as gone when all its
 * threads have ended.
 * @param {number} pid
 */
export function gone(pid) {
  return until(`process ${pid} being gone`, async () => {
    const stat = await unlessGone(fs.readFile(`/proc/${pid}/stat`, "utf8"));
    const threads = await unlessGone(fs.readdir(`/proc/${pid}/task`));
    return stat === null || threads === null || (/\) [ZX] /.test(stat) && threads.length <= 1);
  });
}

/**
 * The ids of the processes with this HOME whose command line names `program`.
 * @param {string} home
 * @param {string} [program]
 */
export async function processesOf(home, program = "") {
  const all = (await fs.readdir("/proc")).filter((name) => /^\d+$/.test(name)).map(Number);
  const ours = await Promise.all(all.map((pid) => isOurs(pid, home, program)));
  return all.filter((_, index) => ours[index]);
}

/**
 * @param {number} pid
 * @param {string} home
 * @param {string} program
 */
async function isOurs(pid, home, program) {
  const environ = await unlessGone(fs.readFile(`/proc/${pid}/environ`, "utf8"));
  if (!environ?.split("\0").includes(`HOME=${home}`)) return false;
  return (await unlessGone(fs.readFile(`/proc/${pid}/cmdline`, "utf8")))?.includes(program) ?? false;
}

/**
 * What /proc says, or null if the process is gone or belongs to another user.
 * @template T
 * @param {Promise<T>} reading
 * @returns {Promise<T | null>}
 */
function unlessGone(reading) {
  return reading.catch((error) => {
    if (["ENOENT", "ESRCH", "EACCES", "EPERM"].includes(error.code)) return null;
    throw error;
  });
}
