// What the browser keeps for the page. Where it keeps nothing, the page does, for as long as it is open.

class Kept {
  /** @type {Map<string, string>} */
  #memory = new Map();

  /** @param {() => Storage} place */
  constructor(place) {
    this.place = place;
  }

  /** @param {string} key */
  get(key) {
    try {
      return this.place().getItem(key);
    } catch {
      return this.#memory.get(key) ?? null;
    }
  }

  /**
   * @param {string} key
   * @param {string} value
   */
  set(key, value) {
    try {
      this.place().setItem(key, value);
    } catch {
      this.#memory.set(key, value);
    }
  }

  /** @param {string} key */
  remove(key) {
    this.#memory.delete(key);
    try {
      this.place().removeItem(key);
    } catch {
      // It was never there.
    }
  }
}

/** For all tabs, and for later. */
export const lasting = new Kept(() => localStorage);
/** For this tab. */
export const passing = new Kept(() => sessionStorage);
