// A real PostgreSQL in a scratch directory, as an unprivileged user, on a unix socket only.
import { execFileSync, spawn } from "node:child_process";
import fs from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { until } from "./until.mjs";

/** The directory of the programs. Debian keeps them away from the others. */
async function programs() {
  const root = "/usr/lib/postgresql";
  const versions = await fs.readdir(root).catch(() => /** @type {string[]} */ ([]));
  const newest = versions.sort((a, b) => Number(a) - Number(b)).at(-1);
  if (newest === undefined) throw new Error("PostgreSQL is not installed: run `apt-get install postgresql`, or tests/run.sh");
  return path.join(root, newest, "bin");
}

/** PostgreSQL does not run as root. Then it runs as the user of its package. @param {string} program @param {string[]} args @returns {[string, string[]]} */
function unprivileged(program, args) {
  return process.getuid?.() === 0 ? ["setpriv", ["--reuid=postgres", "--regid=postgres", "--clear-groups", program, ...args]] : [program, args];
}

/** An engine with an empty database. */
export class Postgres {
  #dir = "";
  /** @type {import("node:child_process").ChildProcess | undefined} */
  #engine;

  async start() {
    const bin = await programs();
    this.#dir = await fs.mkdtemp(path.join(os.tmpdir(), "answerback-postgres-"));
    if (process.getuid?.() === 0) execFileSync("chown", ["postgres:postgres", this.#dir]);
    const data = path.join(this.#dir, "data");
    const initdb = ["--no-sync", "--auth=trust", "--username=test", "--encoding=UTF8", "--locale=C", "-D", data];
    execFileSync(...unprivileged(path.join(bin, "initdb"), initdb), { stdio: "ignore", cwd: "/" });
    const settings = ["-D", data, "-k", this.#dir, "-c", "listen_addresses=", "-c", "fsync=off", "-c", "unix_socket_permissions=0777"];
    this.#engine = spawn(...unprivileged(path.join(bin, "postgres"), settings), { stdio: "ignore", cwd: "/" });
    await until("PostgreSQL being ready", async () => {
      const state = await fs.readFile(path.join(data, "postmaster.pid"), "utf8").catch(() => "");
      return state.trimEnd().split("\n").at(-1)?.trim() === "ready";
    });
    return `postgres://test@${encodeURIComponent(this.#dir)}/postgres`;
  }

  async stop() {
    this.#engine?.kill("SIGQUIT");
    await new Promise((resolve) => (this.#engine ? this.#engine.once("exit", resolve) : resolve(undefined)));
    await fs.rm(this.#dir, { recursive: true, force: true, maxRetries: 5 });
  }
}
