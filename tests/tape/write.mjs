// Writes the tape of the README: node write.mjs FILE (see tests/browser/run.sh --tape).
import fs from "node:fs/promises";
import { setTimeout as pause } from "node:timers/promises";
import { COLUMNS, record } from "./record.mjs";
import { svg } from "./svg.mjs";

await fs.writeFile(process.argv[2], svg(await record(pause), COLUMNS));
