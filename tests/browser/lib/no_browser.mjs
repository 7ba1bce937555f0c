// As much of a document as the modules of the page need to run without a browser. It only keeps what it is given.

class Part {
  /** @type {unknown[]} */
  children = [];
  style = { setProperty() {} };
  classList = { add() {}, remove() {}, toggle() {} };
  hidden = false;
  firstElementChild = null;
  /** @param {...unknown} children */
  append(...children) {
    for (const child of children) this.children.push(child);
  }
  /** @param {...unknown} children */
  replaceChildren(...children) {
    this.children = children;
  }
  replaceWith() {}
  setAttribute() {}
  removeAttribute() {}
  addEventListener() {}
  querySelectorAll() {
    return [];
  }
}

Object.assign(globalThis, {
  document: Object.assign(new Part(), { createElement: () => new Part(), createElementNS: () => new Part(), documentElement: new Part() }),
  DocumentFragment: Part,
  ResizeObserver: class {
    observe() {}
  },
  addEventListener: () => {},
  matchMedia: () => ({ matches: false }),
});
