// A recording as an animated SVG. It needs no script, and where nothing moves it is the last screen.

/** @typedef {import("./record.mjs").Frame} Frame */
/** @typedef {{ markup: string, from: number, to: number }} Span what a row shows, and from when to when */

const CELL = { width: 8.4, height: 20 };
const FONT = 14;
const PAD = 18;
const BAR = 34;

/** Black to white, for a dark window. */
const COLORS = ["#6e7681", "#ff7b72", "#7ee787", "#e3b341", "#79c0ff", "#d2a8ff", "#56d4dd", "#e6edf3"];

const STYLE = `text{font:${FONT}px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;fill:#e6edf3;white-space:pre}
.b{font-weight:700}.d{fill-opacity:.66}.r{fill:#0d1117}.cursor{fill:#e6edf3}
${COLORS.map((color, number) => `.c${number}{fill:${color}}`).join("")}
@media(prefers-reduced-motion:reduce){.f{visibility:hidden!important}.last{visibility:visible!important}}`;

/**
 * @param {Frame[]} frames
 * @param {number} columns
 */
export function svg(frames, columns) {
  const height = Math.max(...frames.map(({ screen }) => heightOf(screen)));
  const size = { width: Math.ceil(columns * CELL.width) + 2 * PAD, height: BAR + height * CELL.height + PAD };
  const length = frames.reduce((sum, { millis }) => sum + millis, 0);
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${size.width} ${size.height}" width="${size.width}" height="${size.height}" role="img">
<title>The first minute with Answerback</title>
<style>${STYLE}</style>
<rect x=".5" y=".5" width="${size.width - 1}" height="${size.height - 1}" rx="8" fill="#0d1117" stroke="#3d444d"/>
<g fill="#3d444d">${[0, 1, 2].map((index) => `<circle cx="${20 + index * 20}" cy="17" r="6"/>`).join("")}</g>
<rect width="0" height="0"><animate id="t" attributeName="x" to="0" begin="0s;t.end" dur="${seconds(length)}"/></rect>
${groups(spans(frames), length).join("\n")}
</svg>
`;
}

/** How many rows are in use. The cursor may be below the text. @param {import("./screen.mjs").Screen} screen */
const heightOf = ({ rows, cursor }) => Math.max(rows.length, (cursor?.row ?? 0) + 1);

/** What each row shows, from when to when. @param {Frame[]} frames */
function spans(frames) {
  /** @type {Span[]} */
  const all = [];
  /** @type {Map<number, Span>} by row */
  let shown = new Map();
  let now = 0;
  for (const { screen, millis } of frames) {
    /** @type {typeof shown} */
    const next = new Map();
    for (let row = 0; row < heightOf(screen); row++) {
      const markup = line(screen, row);
      if (!markup) continue;
      const before = shown.get(row);
      const span = before?.markup === markup ? before : { markup, from: now, to: now };
      if (span !== before) all.push(span);
      span.to = now + millis;
      next.set(row, span);
    }
    shown = next;
    now += millis;
  }
  return all;
}

/**
 * Rows that come and go together share an element.
 * @param {Span[]} spans
 * @param {number} length
 */
function groups(spans, length) {
  /** @type {Map<string, Span[]>} */
  const together = new Map();
  for (const span of spans) {
    const key = `${span.from}-${span.to}`;
    together.set(key, [...(together.get(key) ?? []), span]);
  }
  return [...together.values()].map((rows) => {
    const [{ from, to }] = rows;
    const text = rows.map(({ markup }) => markup).join("");
    // The last screen is what is seen without an animation, so it is hidden at first.
    if (to === length) return `<g class="f last">${text}${from === 0 ? "" : set("hidden", 0, from)}</g>`;
    return `<g class="f" visibility="hidden">${text}${set("visible", from, to)}</g>`;
  });
}

/**
 * @param {string} visibility
 * @param {number} from
 * @param {number} to
 */
function set(visibility, from, to) {
  return `<set attributeName="visibility" to="${visibility}" begin="t.begin+${seconds(from)}" dur="${seconds(to - from)}"/>`;
}

/** @param {number} millis */
const seconds = (millis) => `${Number((millis / 1000).toFixed(3))}s`;

/**
 * One row, or nothing if it is empty.
 * @param {import("./screen.mjs").Screen} screen
 * @param {number} row
 */
function line({ rows, cursor }, row) {
  const y = BAR + row * CELL.height;
  let markup = "";
  let column = 0;
  for (const cells of runs(rows[row] ?? [])) {
    const [{ style }] = cells;
    const text = cells.map((cell) => cell.text).join("");
    const color = style.color === null ? [] : [`c${style.color}`];
    if (style.reverse) markup += box(column, y, cells.length, color.join() || "c7");
    const classes = [...(style.reverse ? ["r"] : color), ...(style.bold ? ["b"] : []), ...(style.dim ? ["d"] : [])];
    if (text.trim()) markup += `<text x="${place(column)}" y="${y + 15}" textLength="${units(cells.length)}"${classes.length > 0 ? ` class="${classes.join(" ")}"` : ""}>${escaped(text)}</text>`;
    column += cells.length;
  }
  if (cursor?.row === row) markup += box(cursor.column, y, 1, "cursor");
  return markup;
}

/** Characters in a row that have the same style. @param {import("./screen.mjs").Cell[]} cells */
function runs(cells) {
  /** @type {import("./screen.mjs").Cell[][]} */
  const found = [];
  for (const cell of cells) {
    const run = found.at(-1);
    if (run && JSON.stringify(run[0].style) === JSON.stringify(cell.style)) run.push(cell);
    else found.push([cell]);
  }
  return found;
}

/**
 * @param {number} column
 * @param {number} y
 * @param {number} width
 * @param {string} style
 */
function box(column, y, width, style) {
  return `<rect x="${place(column)}" y="${y}" width="${units(width)}" height="${CELL.height}" class="${style}"/>`;
}

/** @param {number} column */
const place = (column) => Number((PAD + column * CELL.width).toFixed(1));
/** @param {number} columns */
const units = (columns) => Number((columns * CELL.width).toFixed(1));
/** @param {string} text */
const escaped = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
