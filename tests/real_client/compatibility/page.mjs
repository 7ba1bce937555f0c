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
  context: ["yes", "The answer comes as context beside an error of the tool. The context says that the question was answered and that the error means nothing."],
  refusal: ["yes", "The answer comes as the reason of a refusal. The text says that it is not a refusal, and gives the answer."],
  "no tool": ["no", "Claude has no tool to ask with there, so it does not ask. `answerback run` gives it one."],
  "goes on": ["no", "The run does not end when the time is over. It goes on without an answer, and the question is closed. Do not set a time limit with this version."],
  "no such choice": ["–", "The dialog of this version has no such choice."],
  "dialog stays": ["–", "The dialog of this version ignores Ctrl-C, so the dialog and the question stay open."],
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

This page says what works with which version of Claude Code. Every cell was measured with the
published program, under tmux or headless, against a scripted model. "Arrives" means that the model
was shown the answer. Versions in between were not measured.

${table.join("\n")}

${footnotes.map((note, index) => wrapped(`${index + 1}. ${note}`)).join("\n")}

A question that is taken back has the outcome \`withdrawn\`. No hook was left running in any of these
cases.

\`tests/real_client/compatibility.sh\` measures all of this and writes this page. Do not edit the page.
\`tests/run.sh compatibility\` measures again, and fails if a version does not do what this page says.
`;
}

/** An item of a list, in lines of at most 100 characters. */
function wrapped(text) {
  const lines = [""];
  for (const word of text.split(" ")) {
    const line = lines.at(-1);
    if (line.length + word.length >= 100) lines.push(`   ${word}`);
    else lines[lines.length - 1] = line ? `${line} ${word}` : word;
  }
  return lines.join("\n");
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
