// Questions of every kind.

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

export const NAME = { question: "What should the first release be called?", header: "Name", multiSelect: false, options: [] };
