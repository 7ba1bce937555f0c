// A world with the real client in it: the hook installed in the project, and a scripted model.
import fs from "node:fs/promises";
import path from "node:path";
import { until, within } from "../../lib/until.mjs";
import { scenarios, World } from "../../lib/world.mjs";
import { CLAUDE } from "./clients.mjs";
import { MessagesApi } from "./messages_api.mjs";

export class ClientWorld extends World {
  model = new MessagesApi();
  /** What a test adds to the environment of the client. @type {Record<string, string>} */
  extraEnv = {};

  /** The client talks to the scripted model and to nobody else. */
  get env() {
    return {
      ...super.env,
      ANTHROPIC_BASE_URL: this.model.url,
      ANTHROPIC_API_KEY: "dummy",
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
      DISABLE_AUTOUPDATER: "1",
      DISABLE_ERROR_REPORTING: "1",
      DISABLE_TELEMETRY: "1",
      // Newer versions offer many tools only after a search for them. The model here does not search.
      ENABLE_TOOL_SEARCH: "false",
      ...this.extraEnv,
    };
  }

  /** The environment of a person's shell, with the client in its path. */
  get personsEnv() {
    return { ...this.env, PATH: `${path.dirname(CLAUDE)}:${process.env.PATH}` };
  }

  async furnish() {
    await this.model.start();
    await super.furnish();
    await this.cover();
  }

  /** Covers every kind of wait, not only questions and plans. @param {...string} options */
  async coverAll(...options) {
    await this.cover("--all", ...options);
  }

  /** Covers what these options say. @param {...string} options */
  async cover(...options) {
    await this.answerback("install", "--project", this.project, ...options);
  }

  /** A file of the project, or null if there is none. @param {string} name */
  async file(name) {
    return fs.readFile(path.join(this.project, name), "utf8").catch((error) => {
      if (error.code === "ENOENT") return null;
      throw error;
    });
  }

  /** Writes a file into the project. Resolves to its path. @param {string} name @param {string} text */
  async put(name, text) {
    const file = path.join(this.project, name);
    await fs.writeFile(file, text);
    return file;
  }

  /** Resolves when this file is in the project. @param {string} name */
  appears(name) {
    return until(`${name} being in the project`, async () => (await this.file(name)) !== null);
  }

  /**
   * Puts a hook into the place of ours that keeps the names of the events it is started for, and then runs ours. Whatever is installed
   * from now on uses it. Resolves to a function that reads these names.
   */
  async listenToHooks() {
    const [programs, heard] = [path.join(this.home, "programs"), path.join(this.home, "heard")];
    await fs.mkdir(programs);
    await fs.copyFile(path.join(this.bin, "answerback"), path.join(programs, "answerback"));
    const hook = path.join(this.bin, "answerback-hook");
    const script = `#!/bin/sh\ninput=$(cat)\nprintf '%s\\n' "$input" >> ${heard}\nprintf '%s' "$input" | ${hook} "$@"\n`;
    await fs.writeFile(path.join(programs, "answerback-hook"), script, { mode: 0o755 });
    Object.assign(this, { bin: programs });
    return async () => {
      const lines = (await fs.readFile(heard, "utf8")).trim().split("\n");
      return lines.map((line) => /** @type {string} */ (JSON.parse(line).hook_event_name));
    };
  }

  /** What the model was shown together with the result of this call. @param {import("../../lib/calls.mjs").Call} call */
  shown(call) {
    return within(`the model being shown the result of ${call.id}`, this.model.shown(call));
  }

  async report() {
    return `${await super.report()}\n--- model\n${this.model.problems.join("\n")}`;
  }

  async close() {
    await super.close();
    this.model.stop();
  }
}

/** A test in such a world. */
export const scenario = scenarios(() => ClientWorld.create());
