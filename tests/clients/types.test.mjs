// The types of the TypeScript client against the daemon's own description: the same fields, the same values, and no others.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import fs from "node:fs/promises";
import path from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { required } from "../lib/environment.mjs";
import { copyExamples } from "../real_client/lib/drivers/example_host.mjs";
import { scenario } from "./lib.mjs";

const DECLARED = fileURLToPath(new URL("../../clients/typescript/index.d.ts", import.meta.url));
const SOURCES = fileURLToPath(new URL("../../clients/typescript/src", import.meta.url));

/** Our names, and those of the description. */
const OBJECTS = {
  Ask: "AskView",
  Question: "Question",
  QuestionOption: "QuestionOption",
  Outcome: "OutcomeView",
  Source: "Source",
  Receipt: "Receipt",
  AskList: "AskList",
  AskEvent: "EventView",
  ResetEvent: "ResetEvent",
  Problem: "Problem",
  QuestionFault: "QuestionFault",
  AskRequest: "AskRequest",
};
const VALUES = ["Kind", "State", "Origin", "OutcomeKind", "Channel"];
/** The description serves requests too, in which these may be missing. The daemon always writes them. */
const ALWAYS_WRITTEN = { Question: ["header", "options", "multiSelect"], QuestionOption: ["description"] };

const HELPERS = `
type Same<A, B> = [A] extends [B] ? ([B] extends [A] ? true : false) : false;
type Fits<A, B> = [A] extends [B] ? true : false;
type Optional<T> = { [K in keyof T]-?: {} extends Pick<T, K> ? K : never }[keyof T];
`;

const union = (names) => names.map((name) => JSON.stringify(name)).join(" | ") || "never";

/** A schema as a type. The texts of objects that are described elsewhere are ours: they are compared by themselves. */
function typeOf(schema) {
  if (schema.$ref) {
    const name = schema.$ref.split("/").at(-1);
    const ours = Object.entries(OBJECTS).find(([, theirs]) => theirs === name)?.[0] ?? name;
    // The questions of a request need less.
    return ours === "Question" ? "client.NewQuestion" : `client.${ours}`;
  }
  if (schema.oneOf) return schema.oneOf.map(typeOf).join(" | ");
  if (schema.enum) return union(schema.enum);
  const types = [schema.type].flat().map((type) => {
    if (type === "integer") return "number";
    if (type === "array") return `(${typeOf(schema.items)})[]`;
    if (type === "object") return schema.additionalProperties ? `Record<string, ${typeOf(schema.additionalProperties)}>` : "object";
    return type;
  });
  return types.join(" | ");
}

/** The checks, as a module for the type checker. Each is a line of its own, so that its error names what differs. */
function checks({ components: { schemas }, paths }) {
  const lines = [];
  const check = (name, type) => lines.push(`export const ${name}: ${type} = true;`);
  for (const [ours, theirs] of Object.entries(OBJECTS)) {
    const { properties, required: needed = [] } = schemas[theirs];
    const written = [...needed, ...(ALWAYS_WRITTEN[ours] ?? [])];
    check(`${ours}__fields`, `Same<keyof client.${ours}, ${union(Object.keys(properties))}>`);
    check(`${ours}__optional`, `Same<Optional<client.${ours}>, ${union(Object.keys(properties).filter((name) => !written.includes(name)))}>`);
    for (const [field, schema] of Object.entries(properties)) check(`${ours}_${field}`, `Fits<client.${ours}["${field}"], ${typeOf(schema)} | undefined>`);
  }
  for (const name of VALUES) check(`${name}__values`, `Same<client.${name}, ${union(schemas[name].enum)}>`);
  const types = [...schemas.EventView.properties.type.description.matchAll(/`(ask\.\w+)`/g)].map(([, type]) => type);
  check("EventType__values", `Same<client.EventType, ${union(types)}>`);
  check("AnswerOptions__fields", `Same<keyof client.AnswerOptions | "answers" | "id", ${union(Object.keys(schemas.AnswerRequest.properties))}>`);
  const queries = (path) => paths[path].get.parameters.filter((parameter) => parameter.in === "query");
  check("ListFilter__fields", `Same<keyof client.ListFilter, ${union(queries("/v1/asks").map(({ name }) => name))}>`);
  for (const { name, schema } of queries("/v1/asks").filter(({ schema }) => schema.enum)) {
    check(`ListFilter_${name}`, `Same<client.ListFilter["${name}"], ${typeOf(schema)} | undefined>`);
  }
  // The client does not offer all of them.
  check("WatchOptions__fields", `Fits<Exclude<keyof client.WatchOptions, "after" | "signal">, ${union(queries("/v1/events").map(({ name }) => name))}>`);
  return `import type * as client from ${JSON.stringify(DECLARED)};\n${HELPERS}\n${lines.join("\n")}\n`;
}

/** That what is declared is what the modules have. */
const IMPLEMENTED = `
import type * as declared from ${JSON.stringify(DECLARED)};
import { Answerback } from ${JSON.stringify(`${SOURCES}/client.js`)};
import { connect } from ${JSON.stringify(`${SOURCES}/connect.js`)};
import { AnswerbackError } from ${JSON.stringify(`${SOURCES}/error.js`)};
import { firstDecision } from ${JSON.stringify(`${SOURCES}/first.js`)};
export const implemented: typeof declared = { Answerback, AnswerbackError, connect, firstDecision };
`;

const OPTIONS = ["--noEmit", "--strict", "--allowJs", "--checkJs", "--skipLibCheck", "--target", "es2024", "--module", "nodenext"];

/** What the type checker says about these modules. Nothing, if all is well. */
async function complaints(world, modules) {
  const files = Object.keys(modules).map((name) => path.join(world.home, name));
  await Promise.all(Object.values(modules).map((text, index) => fs.writeFile(files[index], text)));
  return checked(files);
}

async function checked(files, ...options) {
  const tools = path.join(required("ANSWERBACK_TEST_BROWSER"), "node_modules");
  const args = [...OPTIONS, ...options, "--types", "node", "--typeRoots", path.join(tools, "@types"), ...files];
  return promisify(execFile)(path.join(tools, ".bin/tsc"), args).then(() => "", ({ stdout }) => stdout);
}

scenario("typescript: the types are those of the description", async (world) => {
  const description = await world.daemon.get("/v1/openapi.json");
  assert.equal(await complaints(world, { "described.mts": checks(description), "implemented.mts": IMPLEMENTED }), "");

  // The check sees a difference in each direction.
  const { schemas } = description.components;
  schemas.AskView.properties.added = { type: "string" };
  delete schemas.Receipt.properties.as_sent;
  schemas.Kind.enum.push("riddle");
  schemas.Channel.enum.shift();
  const said = await complaints(world, { "changed.mts": checks(description) });
  const lines = checks(description).split("\n");
  const found = [...said.matchAll(/changed\.mts\((\d+),/g)].map(([, line]) => lines[Number(line) - 1].match(/const (\w+)/)?.[1]);
  for (const name of ["Ask__fields", "Ask_added", "Receipt__fields", "Kind__values", "Channel__values"]) assert.ok(found.includes(name), `${name}: ${said}`);
});

scenario("typescript: the examples fit the types of the client and of the SDK", async (world) => {
  const directory = path.join(world.home, "examples");
  await copyExamples(directory);
  const files = (await fs.readdir(directory)).filter((name) => name.endsWith(".mjs")).map((name) => path.join(directory, name));
  assert.equal(await checked(files, "--noImplicitAny", "false"), "");
});

test("typescript: only one module needs Node.js", async () => {
  const names = await fs.readdir(SOURCES);
  const texts = await Promise.all(names.map((name) => fs.readFile(path.join(SOURCES, name), "utf8")));
  assert.deepEqual(names.filter((_, index) => /from "node:/.test(texts[index])), ["node.js"]);
});
