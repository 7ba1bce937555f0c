// Whom a key or a click is for. A person acts on what they saw a moment ago. If the page has changed since, it is for nobody.

/** A key or a click this soon after a card appeared or moved by itself was meant for what was there before. */
export const SURPRISE = 700;
/** The same key again this soon is a key that bounced. */
const BOUNCE = 80;
/** A person who has not typed for this long is not in the middle of a text any more. */
const PAUSE = 1000;

const isText = (/** @type {EventTarget | null} */ target) => target instanceof HTMLElement && target.matches("input, textarea, select, [contenteditable]");

export class Aim {
  /** When the person last typed into a text that they have not left by themselves. */
  #typedAt = -Infinity;
  /** The page brought the person to this card, and they have not begun with it. @type {import("./card.js").Card | null} */
  #newCard = null;
  #arrivedAt = -Infinity;
  /** The key that led to that card. */
  #lastKey = "";
  /** The person's last sign was a key. */
  isByKey = false;

  constructor() {
    addEventListener("pointerdown", () => {
      this.isByKey = false;
      this.#typedAt = -Infinity;
      this.#newCard = null;
    }, { capture: true });
    addEventListener("keydown", (event) => {
      this.isByKey = true;
      if (event.key.length > 1) this.#lastKey = "";
      // These keys leave a text on purpose.
      if (/^(Escape|Tab|Enter)$/.test(event.key)) this.#typedAt = -Infinity;
      else if (isText(event.target)) this.#typedAt = performance.now();
    }, { capture: true });
  }

  /**
   * The answer of the person has led them to this card.
   * @param {import("./card.js").Card} card
   */
  arrive(card) {
    this.#newCard = card;
    this.#arrivedAt = performance.now();
  }

  /** Whether a key goes nowhere: its text is gone, or it is the key before once more. @param {string} key */
  isLost(key) {
    const now = performance.now();
    if (now - this.#typedAt < PAUSE) {
      this.#typedAt = now;
      return true;
    }
    const isBounce = this.#newCard !== null && key === this.#lastKey && now - this.#arrivedAt < BOUNCE;
    this.#lastKey = key;
    return isBounce;
  }

  /**
   * Whether the person has not begun with this card yet. Enter was meant for the card before, then.
   * @param {import("./card.js").Card} card
   */
  isNew(card) {
    return card === this.#newCard;
  }

  /** Whether the person has had time to see the card that they were brought to. */
  get hasSeenIt() {
    return performance.now() - this.#arrivedAt > SURPRISE;
  }

  /** The person begins with the card that they see. */
  begin() {
    this.#newCard = null;
  }
}

/**
 * Drops clicks on a card that has just moved under the pointer: they were meant for another one.
 * @param {HTMLElement} list
 * @param {() => import("./card.js").Card[]} cards
 */
export function guardClicks(list, cards) {
  const guard = (/** @type {MouseEvent} */ event) => {
    const target = /** @type {Element} */ (event.target);
    const card = cards().find(({ element }) => element.contains(target));
    // A row only opens its card.
    if (target.closest(".row")) return;
    // The second click of a double click was meant for what the first one hit.
    const since = card && performance.now() - (event.detail > 1 ? Math.max(card.movedAt, card.shownAt) : card.movedAt);
    if (event.detail > 0 && since !== undefined && since < SURPRISE) {
      event.stopPropagation();
      event.preventDefault();
    }
  };
  list.addEventListener("click", guard, { capture: true });
}
