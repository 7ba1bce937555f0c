// A world with the real client in it: the hook installed in the project, and a scripted model.
import path from "node:path";
import { within } from "../../lib/until.mjs";
import { scenarios, World } from "../../lib/world.mjs";
import { CLAUDE } from "./clients.mjs";
import { MessagesApi } from "./messages_api.mjs";

export class ClientWorld extends World {
  model = new MessagesApi();

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
    };
  }

  /** The environment of a person's shell, with the client in its path. */
  get personsEnv() {
    return { ...this.env, PATH: `${path.dirname(CLAUDE)}:${process.env.PATH}` };
  }

  async furnish() {
    await this.model.start();
    await super.furnish();
    await this.answerback("install", "--project", this.project);
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
