// The real clients, as run.sh installed them.
import path from "node:path";
import { pathToFileURL } from "node:url";

const packages = (part) => path.join(required("ANSWERBACK_TEST_CLIENTS"), part, "node_modules");

export const CLAUDE = path.join(packages("cli"), ".bin/claude");

export async function loadAgentSdk() {
  return import(pathToFileURL(path.join(packages("sdk"), "@anthropic-ai/claude-agent-sdk/sdk.mjs")));
}

export function required(name) {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is not set: start the suite with tests/real_client/run.sh`);
  return value;
}
