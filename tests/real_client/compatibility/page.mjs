// Makes docs/compatibility.md of what was measured: node page.mjs DIRECTORY PAGE [--check]
import fs from "node:fs";
import path from "node:path";

const ROWS = [
  ["**Without a terminal**"],
  ["plain", "`claude -p`: the answer arrives"],
  ["headless", "`answerback run -- claude -p`: the answer arrives"],
  ["headless_note", "… with its note"],
  ["headless_receipt", "… and is seen to have arrived"],
  ["defer", '`on_timeout = "defer"`: the resumed run gets the answer'],
  ["**At the terminal and elsewhere at once**"],
  ["elsewhere", "answered elsewhere: the dialog closes, the answer arrives"],
  ["elsewhere_note", "… with its note"],
  ["elsewhere_receipt", "… and is seen to have arrived"],
  ["terminal", "answered in the terminal: the question leaves Answerback with that answer"],
  ["escape", "Esc takes the question back"],
  ["chat", "“Chat about this” takes it back"],
  ["window", "a closed window takes it back"],
  ["ctrl_c", "Ctrl-C takes it back"],
  ["end", "`kill` of Claude Code takes it back"],
  ["kill", "`kill -9` of Claude Code takes it back"],
];

// How a value that was measured reads in a cell, and the footnote that it needs.
const CELLS = {
  yes: ["yes"],
  no: ["no"],
  result: ["yes"],
  answered_in_terminal: ["yes"],
  withdrawn: ["yes"],
  context: ["yes", "As a context beside an error of the tool. The context says that the question was answered and the error means nothing."],
  refusal: ["yes", "As the reason of a refusal, which says that it is none, and what the answer is."],
  "no tool": ["no", "Claude has no tool to ask with there, so it does not ask. `answerback run` gives it one."],
  "goes on": ["no", "The run does not end when the time is over: it goes on without an answer, and the question is closed. Better give it no time limit."],
  "no such choice": ["–", "The dialog of this version has no such choice."],
  "dialog stays": ["–", "The dialog of this version does not listen to Ctrl-C: it stays, and so does the question."],
};
const NO_RECEIPT = "The tool itself fails in this version, and Claude Code then reports nothing to hooks.";

function cell(row, value, footnotes) {
  const [text, ownNote] = CELLS[value] ?? fail(`no way to say ${JSON.stringify(value)} of ${row}`);
  const note = value === "no" && row.endsWith("_receipt") ? NO_RECEIPT : ownNote;
  if (!note) return text;
  if (!footnotes.includes(note)) footnotes.push(note);
  return `${text} <sup>${footnotes.indexOf(note) + 1}</sup>`;
}

function page(measured) {
  const versions = Object.keys(measured).sort((a, b) => a.localeCompare(b, "en", { numeric: true }));
  const footnotes = [];
  const line = (cells) => `| ${cells.join(" | ")} |`;
  const table = [line(["", ...versions]), line(["---", ...versions.map(() => "---")])];
  for (const [row, label] of ROWS) {
    if (!label) table.push(line([row, ...versions.map(() => "")]));
    else table.push(line([label, ...versions.map((version) => cell(row, measured[version][row], footnotes))]));
  }
  return `# Compatibility

What works with which version of Claude Code. Every cell was measured with the published program, under tmux or headless, against a scripted model: "arrives"
means that the model was shown it. Versions in between were not measured.

${table.join("\n")}

${footnotes.map((note, index) => `${index + 1}. ${note}`).join("\n")}

A question that is taken back leaves Answerback as withdrawn. In none of these cases a hook was left running.

\`tests/real_client/compatibility.sh\` measures all of this and writes this page; do not edit it. \`tests/run.sh compatibility\` measures again, and fails if a
version does something else than this page says.
`;
}

function fail(message) {
  console.error(`error: ${message}`);
  process.exit(1);
}

const [directory, file, mode] = process.argv.slice(2);
const measured = Object.fromEntries(
  fs.readdirSync(directory).map((name) => [
    path.basename(name, ".json"),
    JSON.parse(fs.readFileSync(path.join(directory, name), "utf8")),
  ]),
);
const text = page(measured);
const before = fs.existsSync(file) ? fs.readFileSync(file, "utf8") : "";
if (text === before) {
  console.log("docs/compatibility.md says what was measured");
} else if (mode === "--check") {
  const [old, now] = [before.split("\n"), text.split("\n")];
  for (const line of old.filter((each) => !now.includes(each))) console.error(`- ${line}`);
  for (const line of now.filter((each) => !old.includes(each))) console.error(`+ ${line}`);
  fail("docs/compatibility.md does not say what was measured; tests/real_client/compatibility.sh writes it");
} else {
  fs.writeFileSync(file, text);
  console.log("docs/compatibility.md was written");
}
