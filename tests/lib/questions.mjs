// Questions to ask, and the calls of Claude Code that ask them.
import { callOf } from "./calls.mjs";

/**
 * A call of AskUserQuestion.
 * @param {...Question} questions
 */
export function ask(...questions) {
  return callOf("AskUserQuestion", { questions });
}

/** @type {Question} */
export const DATABASE = {
  question: "Which database should the shop use?",
  header: "Database",
  multiSelect: false,
  options: [
    { label: "SQLite", description: "One file, nothing to run" },
    { label: "PostgreSQL", description: "A server, for more than one machine" },
    { label: "Plain files", description: "As simple as it gets" },
  ],
};

/** Tests at a terminal choose from these by number. @type {Question} */
export const TWO_DATABASES = {
  question: "Which database should the service use?",
  header: "Database",
  multiSelect: false,
  options: [
    { label: "Postgres", description: "A server of its own" },
    { label: "SQLite", description: "A file beside the service" },
  ],
};

/** @type {Question} */
export const PLATFORMS = {
  question: "Which platforms do we support from the first release?",
  header: "Platforms",
  multiSelect: true,
  options: [
    { label: "Linux", description: "x86-64 and ARM" },
    { label: "macOS", description: "From version 14" },
    { label: "Windows", description: "Needs named pipes in place of the socket" },
  ],
};

/** @type {Question} */
export const LAYOUT = {
  question: "How should the order page be laid out?",
  header: "Layout",
  multiSelect: false,
  options: [
    {
      label: "Two columns",
      description: "Basket beside the address",
      preview: "┌──────────────┬─────────────┐\n│ Your basket  │ Address     │\n│              │ [         ] │\n│ Tea    4.50  │ [         ] │\n│ Cup    9.00  │             │\n│              │ Payment     │\n│ Total 13.50  │ ( ) Card    │\n│              │ ( ) Invoice │\n│              │      [Buy]  │\n└──────────────┴─────────────┘",
    },
    {
      label: "One step after the other",
      description: "Basket, address, payment, each on a page of its own",
      preview: "┌─────────────────────────────┐\n│ 1 Basket › 2 Address › 3 Pay│\n├─────────────────────────────┤\n│ Tea                    4.50 │\n│ Cup                    9.00 │\n│ Total                 13.50 │\n│                      [Next] │\n└─────────────────────────────┘",
    },
  ],
};

/** Previews of a few lines, which are easy to find in what Claude is told. @type {Question} */
export const TWO_LAYOUTS = {
  question: "Which layout should the page have?",
  header: "Layout",
  multiSelect: false,
  options: [
    { label: "Columns", description: "Two side by side", preview: "+---+---+\n| a | b |\n+---+---+" },
    { label: "Stack", description: "One above the other", preview: "+---+\n| a |\n| b |\n+---+" },
  ],
};

/** No options: the answer is in one's own words. @type {Question} */
export const NAME = { question: "What should the first release be called?", header: "Name", multiSelect: false, options: [] };

/** Quotation marks and a dash in the text. @type {Question} */
export const LICENCE = {
  question: 'Is "MIT" the licence — yes or no?',
  header: "Licence",
  multiSelect: false,
  options: [
    { label: "Yes", description: "MIT it is" },
    { label: "No", description: "Another one" },
  ],
};
