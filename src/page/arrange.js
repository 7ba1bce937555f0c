// Where cards and rows are in the document: a list of rows beside the chosen card, or one card after the other.

/** How many cards of a column open as forms. The others are rows until the person opens them. */
const FORMS = 3;

/** @typedef {import("./card.js").Card} Card */
/** @typedef {{ index: HTMLElement, list: HTMLElement }} Panes the rows, and the cards */

/**
 * A list of rows, and the chosen card beside it.
 * @param {Panes} panes
 * @param {Card[]} all in their order
 * @param {Card[]} shown those that the filter lets through
 * @param {Card | null} chosen
 */
export function arrangeList({ index, list }, all, shown, chosen) {
  place(index, shown.map(({ row }) => row.element));
  chosen?.expand();
  // A card that was open once stays in the document, and with it its frames and texts.
  place(list, all.filter((card) => card === chosen || card.element.isConnected).map(({ element }) => element));
  for (const card of all) {
    if (card !== chosen) leave(card);
    card.element.hidden = card !== chosen;
    card.row.isChosen = card === chosen;
  }
}

/**
 * One card after the other.
 * @param {Panes} panes
 * @param {Card[]} all in their order
 * @param {Card[]} shown those that the filter lets through
 */
export function arrangeColumn({ index, list }, all, shown) {
  place(index, []);
  const wanted = new Set(shown);
  for (const card of all) {
    card.keepRow();
    card.row.isChosen = false;
    if (!wanted.has(card)) leave(card);
    card.element.hidden = !wanted.has(card);
  }
  place(list, all.map(({ element }) => element));
  let forms = shown.filter(({ isExpanded }) => isExpanded).length;
  for (const card of shown) {
    if (forms >= FORMS) break;
    if (!card.isExpanded && card.isOpen) {
      card.expand();
      forms++;
    }
  }
}

/**
 * Takes the focus away from a card that will be hidden. The browser does that only with its next frame, and a key before that would be for a
 * card that nobody sees.
 * @param {Card} card
 */
function leave(card) {
  const { activeElement } = document;
  if (activeElement instanceof HTMLElement && card.element.contains(activeElement)) activeElement.blur();
}

/** @param {HTMLElement} element */
export function isInView(element) {
  const { top, bottom, height } = element.getBoundingClientRect();
  return height > 0 && bottom > 0 && top < innerHeight;
}

/**
 * Brings elements into this order. Elements that are in place are not touched.
 * @param {Element} parent
 * @param {Element[]} elements
 */
function place(parent, elements) {
  const wanted = new Set(elements);
  for (const element of [...parent.children]) if (!wanted.has(element)) element.remove();
  let next = parent.firstElementChild;
  for (const element of elements) {
    if (element === next) next = next.nextElementSibling;
    else parent.insertBefore(element, next);
  }
}
