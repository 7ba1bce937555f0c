import { randomUUID } from "node:crypto";

export const DATABASE = {
  question: "Which database should the service use?",
  header: "Database",
  multiSelect: false,
  options: [
    { label: "Postgres", description: "A server of its own" },
    { label: "SQLite", description: "A file beside the service" },
  ],
};

export const PLATFORMS = {
  question: "Which platforms do we ship first?",
  header: "Platforms",
  multiSelect: true,
  options: [
    { label: "Linux", description: "x86-64 and arm64" },
    { label: "macOS", description: "Apple silicon" },
    { label: "Windows", description: "x86-64" },
  ],
};

export const LAYOUT = {
  question: "Which layout should the page have?",
  header: "Layout",
  multiSelect: false,
  options: [
    { label: "Columns", description: "Two side by side", preview: "+---+---+\n| a | b |\n+---+---+" },
    { label: "Stack", description: "One above the other", preview: "+---+\n| a |\n| b |\n+---+" },
  ],
};

export const LICENCE = {
  question: 'Is "MIT" the licence — yes or no?',
  header: "Licence",
  multiSelect: false,
  options: [
    { label: "Yes", description: "MIT it is" },
    { label: "No", description: "Another one" },
  ],
};

/** One call of AskUserQuestion, with an id that no other call has. */
export function ask(...questions) {
  return { id: `toolu_${randomUUID().replaceAll("-", "")}`, input: { questions } };
}
