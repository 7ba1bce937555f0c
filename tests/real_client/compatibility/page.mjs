// Makes docs/compatibility.md of what was measured: node page.mjs DIRECTORY PAGE [--check]
import fs from "node:fs";
import path from "node:path";

// Each row has the cell that was measured and what it is called. A row may say other words about a value than CELLS.
const SECTIONS = [
  {
    title: "Questions without a terminal",
    rows: [
      ["plain", "`claude -p`: the answer arrives"],
      ["headless", "`answerback run -- claude -p`: the answer arrives"],
      ["headless_note", "… with its note"],
      ["headless_receipt", "… and is seen to have arrived", {
        no: ["no", "The tool itself fails in this version, and Claude Code then reports nothing to hooks."],
      }],
      ["defer", '`on_timeout = "defer"`: the resumed run gets the answer'],
    ],
  },
  {
    title: "Questions at the terminal and elsewhere at once",
    rows: [
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
    ],
  },
  {
    title: "Permissions at the terminal and elsewhere at once",
    about: "Here the hook was installed with `--permissions`.",
    rows: [
      ["permission_elsewhere", "allowed elsewhere: the dialog closes, the command runs"],
      ["permission_receipt", "… and is seen to have arrived"],
      ["permission_edited", "edited and allowed elsewhere: the edited command runs"],
      ["permission_always", "“Always allow”: the rule is written, the same command asks no more"],
      ["permission_denied", "denied elsewhere with words: the model is told the words"],
      ["permission_denied_receipt", "… and is seen to have arrived", {
        no: ["no", "This version reports nothing to hooks about a call that was denied."],
      }],
      ["permission_terminal", "allowed in the terminal: it leaves Answerback as allowed"],
      ["permission_refused", "refused in the terminal with words: it leaves Answerback with these words", {
        withdrawn: ["no", "This version does not tell hooks that it was refused, nor the words. It leaves Answerback as taken back when the turn ends."],
      }],
      ["permission_escape", "Esc takes it back"],
    ],
  },
  {
    title: "Plans at the terminal and elsewhere at once",
    rows: [
      ["plan_accepted", "approved elsewhere, edits accepted: the dialog closes, the next edit is not asked for"],
      ["plan_receipt", "… and is seen to have arrived"],
      ["plan_asked", "approved elsewhere, ask before each edit: the next edit is asked for"],
      ["plan_edited", "edited and approved elsewhere: the model is told the edited plan", {
        no: ["no", "This version ignores the edit and approves the plan as it was. With this version, keep planning and say what to change."],
      }],
      ["plan_sent_back", "“Keep planning” with words: the model is told the words and stays in plan mode"],
      ["plan_terminal", "approved in the terminal: it leaves Answerback as approved"],
    ],
  },
  {
    title: "Forms of MCP servers in a session at the terminal",
    about: "Here the hook was installed with `--forms --mode hold`, so forms wait in Answerback only.",
    rows: [
      ["form_filled", "filled in elsewhere: the server gets the values"],
      ["form_declined", "dismissed elsewhere: the server is told that it was declined"],
      ["form_address", "an address to open, accepted elsewhere: the server is told"],
      ["form_escape", "after Esc, the next prompt takes it back"],
    ],
  },
  {
    title: "Permissions, plans and forms without a terminal",
    about: 'For plain `claude -p`, `unattended = "wait"` was set in `[permissions]` of `config.toml`.',
    rows: [
      ["permission_run", "`answerback run -- claude -p`: a permission waits, is allowed, and the command runs"],
      ["plan_run", "`answerback run -- claude -p`: a plan waits, is approved, and the next edit is not asked for"],
      ["permission_plain", "`claude -p`: a permission waits, is allowed, and the command runs"],
      ["form_plain", "`claude -p`: a form waits, is filled in, and the server gets the values"],
    ],
  },
  {
    title: "A settings file that several people use",
    about: `In the first two rows, the hook was installed with \`--shared\`. "Errors" are lines about a missing
program: with every prompt, with every question, at the end of every turn and at the end of the
session. A name without a path gives the same errors. Claude Code goes on all the same.`,
    rows: [
      ["shared", "with Answerback: answered elsewhere, the answer arrives"],
      ["shared_missing", "without Answerback: Claude Code says"],
      ["path_missing", "the path of a hook on another machine: Claude Code says"],
    ],
  },
];

// How a value that was measured reads in a cell, and the footnote that it needs.
const CELLS = {
  yes: ["yes"],
  no: ["no"],
  nothing: ["nothing"],
  errors: ["errors"],
  result: ["yes"],
  answered_in_terminal: ["yes"],
  withdrawn: ["yes"],
  context: ["yes", "The answer comes as context beside an error of the tool. The context says that the question was answered and that the error means nothing."],
  refusal: ["yes", "The answer comes as the reason of a refusal. The text says that it is not a refusal, and gives the answer."],
  "no tool": ["no", "Claude has no tool to ask with there, so it does not ask. `answerback run` gives it one."],
  "goes on": ["no", "The run does not end when the time is over. It goes on without an answer, and the question is closed. Do not set a time limit with this version."],
  "no such choice": ["–", "The dialog of this version has no such choice."],
  "dialog stays": ["–", "The dialog of this version ignores Ctrl-C, so the dialog and the question stay open."],
  refused: ["no", "This version refuses the call at once there. It does not run the hook for permissions."],
  "no hooks": ["–", "Hooks for forms came with Claude Code 2.1.76. `answerback install --forms` refuses an older version."],
  "no addresses": ["–", "This version tells the server that it does not support addresses."],
};

function cell(row, value, words, footnotes) {
  const [text, note] = words[value] ?? CELLS[value] ?? fail(`no way to say ${JSON.stringify(value)} of ${row}`);
  if (!note) return text;
  if (!footnotes.includes(note)) footnotes.push(note);
  return `${text} <sup>${footnotes.indexOf(note) + 1}</sup>`;
}

function section({ title, about = "", rows }, versions, measured) {
  const footnotes = [];
  const line = (cells) => `| ${cells.join(" | ")} |`;
  const table = [line(["", ...versions]), line(["---", ...versions.map(() => "---")])];
  for (const [row, label, words = {}] of rows) {
    table.push(line([label, ...versions.map((version) => cell(row, measured[version][row], words, footnotes))]));
  }
  const notes = footnotes.map((note, index) => wrapped(`${index + 1}. ${note}`)).join("\n");
  return [`## ${title}`, about, table.join("\n"), notes].filter(Boolean).join("\n\n");
}

function page(measured) {
  const versions = Object.keys(measured).sort((a, b) => a.localeCompare(b, "en", { numeric: true }));
  return `# Compatibility

This page says what works with which version of Claude Code. Every cell was measured with the
published program, under tmux or headless, against a scripted model. "Arrives" means that the model
was shown the answer. Versions in between were not measured.

What is taken back has the outcome \`withdrawn\`. No hook was left running in any of these cases.

${SECTIONS.map((each) => section(each, versions, measured)).join("\n\n")}

## How to measure again

\`tests/real_client/compatibility.sh\` measures all of this and writes this page. Do not edit it.
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
