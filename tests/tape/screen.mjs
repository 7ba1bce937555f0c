// What a terminal shows: rows of characters, each with a style.

/** @typedef {{ bold: boolean, dim: boolean, reverse: boolean, color: number | null }} Style the colour is one of the terminal's eight */
/** @typedef {{ text: string, style: Style }} Cell */
/** @typedef {{ rows: Cell[][], cursor: { column: number, row: number } | null }} Screen */

/** @type {Style} */
const PLAIN = { bold: false, dim: false, reverse: false, color: null };

/** Reads what `Terminal.styledScreen` gives. @param {string} text @returns {Screen} */
export function readScreen(text) {
  const [where, ...lines] = text.split("\n");
  const [column, row, isShown] = where.split(" ").map(Number);
  // A style goes on from line to line until it is changed.
  let style = PLAIN;
  const rows = lines.map((line) => {
    /** @type {Cell[]} */
    const cells = [];
    for (const [, codes, character] of line.matchAll(/\x1b\[([\d;]*)m|(.)/gu)) {
      if (character === undefined) style = codes.split(";").map(Number).reduce(styled, style);
      else cells.push({ text: character, style });
    }
    return cells;
  });
  while (rows.at(-1)?.length === 0) rows.pop();
  return { rows, cursor: isShown ? { column, row } : null };
}

/**
 * The style after a code. A code that the tape cannot show is an error: nothing is left out in silence.
 * @param {Style} style
 * @param {number} code
 * @returns {Style}
 */
function styled(style, code) {
  if (code === 0) return PLAIN;
  if (code === 1) return { ...style, bold: true };
  if (code === 2) return { ...style, dim: true };
  if (code === 7) return { ...style, reverse: true };
  if (code === 39) return { ...style, color: null };
  if (code === 49) return style;
  if (code >= 30 && code <= 37) return { ...style, color: code - 30 };
  throw new Error(`the tape has no style for the code ${code}`);
}

/**
 * The screen as it was before the row of the cursor had more than this.
 * @param {Screen} screen
 * @param {number} column
 * @returns {Screen}
 */
export function withoutAfter({ rows, cursor }, column) {
  if (!cursor) throw new Error("nobody types where there is no cursor");
  return { rows: rows.with(cursor.row, rows[cursor.row].slice(0, column)), cursor: { ...cursor, column } };
}
