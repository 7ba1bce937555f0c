// Calls, plans and forms of the kind that agents make.

/** Claude Code offers to remember a command. @param {string} command */
export const remember = (command) => ({
  permission_suggestions: [{ type: "addRules", rules: [{ toolName: "Bash", ruleContent: command }], behavior: "allow", destination: "localSettings" }],
});

/** A command of so many lines. @param {number} lines */
export const longCommand = (lines) => Array.from({ length: lines }, (_, index) => `echo step ${index + 1}`).join("\n");

export const PLAN = `# Add a search to the shop

Customers cannot find an order again. The search looks at **order numbers**, names and \`notes\`.

## Steps

1. Index the orders
   - on \`customer_id\`
   - on \`created_at\`
2. Write the query, see [the manual](https://www.sqlite.org/fts5.html)
3. Show the results

| part | file | lines |
|---|---|---|
| index | \`src/store/index.rs\` | 120 |
| query | \`src/store/search.rs\` | 80 |

\`\`\`sql
CREATE VIRTUAL TABLE search USING fts5(number, name, notes);
\`\`\`

> Nothing is deployed before the tests pass.
`;

export const SCHEMA = {
  type: "object",
  required: ["host", "port", "size"],
  properties: {
    host: { type: "string", title: "Host", description: "Where the service runs", default: "shop.example.org" },
    port: { type: "integer", title: "Port", minimum: 1, maximum: 65535 },
    ratio: { type: "number", title: "Share of the traffic", minimum: 0, maximum: 1, default: 0.5 },
    tls: { type: "boolean", title: "Use TLS", default: true },
    size: { type: "string", title: "Size", enum: ["s", "m", "l"], enumNames: ["Small", "Medium", "Large"] },
    zones: { type: "array", title: "Zones", minItems: 1, items: { type: "string", enum: ["north", "south", "west"] }, default: ["north"] },
    mail: { type: "string", title: "Contact", format: "email", description: "Who is told if it fails" },
    site: { type: "string", title: "Status page", format: "uri" },
    day: { type: "string", title: "First day", format: "date" },
    at: { type: "string", title: "Start", format: "date-time" },
  },
};
