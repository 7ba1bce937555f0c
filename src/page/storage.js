// The browser's storage. If the browser denies it, values last as long as the page.

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

  keys() {
    try {
      return Object.keys(this.place());
    } catch {
      return [...this.#memory.keys()];
    }
  }

  /** @param {string} key */
  remove(key) {
    this.#memory.delete(key);
    try {
      this.place().removeItem(key);
    } catch {
      // The browser stores nothing, so there is nothing to remove.
    }
  }
}

/** Shared by all tabs, and kept. */
export const lasting = new Kept(() => localStorage);
