// Builds elements. No string is ever parsed as markup: text stays text.

const SVG = "http://www.w3.org/2000/svg";

/**
 * @typedef {Node | string | null | undefined | false} Child
 * @typedef {Child | Child[]} Children many of them are an array: a call has room for some ten thousand arguments
 * @typedef {{ class?: string, on?: Record<string, (event: any) => void>, [name: string]: any }} Props
 */

/**
 * An element with attributes, listeners and children. `true` sets an attribute without a value, `false` and `null` leave it out.
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} name
 * @param {Props} [props]
 * @param {...Children} children
 * @returns {HTMLElementTagNameMap[K]}
 */
export function h(name, props = {}, ...children) {
  const element = document.createElement(name);
  // First the children: if `dir` is there already, browsers look for the direction again at each child.
  append(element, children);
  for (const [key, value] of Object.entries(props)) {
    if (key === "on") {
      for (const [type, listener] of Object.entries(value)) element.addEventListener(type, listener);
    } else if (value === true) {
      element.setAttribute(key, "");
    } else if (value !== false && value !== null && value !== undefined) {
      element.setAttribute(key, String(value));
    }
  }
  return element;
}

/**
 * @param {Element} parent
 * @param {Children[]} children
 */
function append(parent, children) {
  for (const child of children.flat()) if (child !== null && child !== undefined && child !== false) parent.append(child);
}

/**
 * Puts new children in the place of the old ones.
 * @param {Element} parent
 * @param {...Children} children
 */
export function fill(parent, ...children) {
  parent.replaceChildren();
  append(parent, children);
}

/** @type {Record<string, string>} */
const ICONS = {
  check: "M5 12.5l4.500 4.500L19 7.500",
  clock: "M12 4a8 8 0 1 0 .01 0M12 8v4.500l3 2",
  close: "M6 6l12 12M18 6L6 18",
  copy: "M9 9V5h10v10h-4M5 9h10v10H5z",
  folder: "M3.500 7a1.500 1.500 0 0 1 1.500-1.500h4l2 2.500h8a1.500 1.500 0 0 1 1.500 1.500V17a1.500 1.500 0 0 1-1.500 1.500H5A1.500 1.500 0 0 1 3.500 17z",
  keyboard: "M3.500 7h17v10h-17zM7 10.500h.01M10.300 10.500h.01M13.700 10.500h.01M17 10.500h.01M8 14h8",
  settings: "M4 8h9M17 8h3M4 16h3M11 16h9M15 5.800v4.400M9 13.800v4.400",
  permission: "M12 4l7 3v5c0 4.500-3 7-7 8.500-4-1.500-7-4-7-8.500V7z",
  plan: "M5 7h14M5 12h14M5 17h9",
  form: "M5 5h14v5H5zM5 14h14v5H5z",
  terminal: "M5 7l5 5-5 5M12.500 17H19",
  warning: "M12 4.500l8.500 15h-17zM12 10v4.500M12 17h.01",
  question: "M5 5.500h14v10h-7.500L7.500 19v-3.500H5z",
  branch: "M7 8.500v7M7 8.500a2 2 0 1 0-.01 0M7 19.500a2 2 0 1 0-.01 0M17 8.500a2 2 0 1 0-.01 0M17 8.500c0 5-10 3-10 7",
};

/**
 * A small drawing beside a word. Screen readers skip it.
 * @param {string} name
 */
export function icon(name) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("class", "icon");
  svg.setAttribute("aria-hidden", "true");
  const path = document.createElementNS(SVG, "path");
  path.setAttribute("d", ICONS[name]);
  svg.append(path);
  return svg;
}

/**
 * An element of index.html.
 * @param {string} id
 * @returns {HTMLElement}
 */
export function byId(id) {
  const found = document.getElementById(id);
  if (!found) throw new Error(`there is no element ${id}`);
  return found;
}

/**
 * Whether a key belongs to a text that is being composed. Safari says so only with this old key code.
 * @param {KeyboardEvent} event
 */
export const isComposing = (event) => event.isComposing || event.keyCode === 229;

/** @type {string[]} */
let unsaid = [];

/**
 * Lets screen readers say something. Texts that come at the same time are said together.
 * @param {string} text
 */
export function announce(text) {
  if (unsaid.push(text) > 1) return;
  setTimeout(() => {
    byId("announcer").textContent = unsaid.join(". ");
    unsaid = [];
  }, 100);
}

/**
 * Opens a dialog. Closing it removes it.
 * @param {string} title
 * @param {...Child} children
 */
export function dialog(title, ...children) {
  const close = h("button", { type: "button", class: "icon-button", "aria-label": "Close" }, icon("close"));
  const element = h("dialog", { class: "dialog", "aria-label": title }, h("header", {}, h("h2", {}, title), close), ...children);
  close.addEventListener("click", () => element.close());
  element.addEventListener("click", ({ clientX, clientY, target }) => {
    const { left, right, top, bottom } = element.getBoundingClientRect();
    const isOutside = clientX < left || clientX > right || clientY < top || clientY > bottom;
    if (target === element && isOutside) element.close();
  });
  element.addEventListener("close", () => element.remove());
  document.body.append(element);
  element.showModal();
  return element;
}

/**
 * A shell command with a button that copies it.
 * @param {string} text
 */
export function command(text) {
  const button = h("button", { type: "button", class: "icon-button", "aria-label": `Copy: ${text}`, title: "Copy" }, icon("copy"));
  button.addEventListener("click", () => copy(button, text));
  return h("span", { class: "command" }, h("code", {}, text), button);
}

/**
 * Copies a text, and shows on the button that it did.
 * @param {HTMLElement} button
 * @param {string} text
 */
export async function copy(button, text) {
  // Without a secure origin there is no clipboard. The person can still select the text.
  const done = await navigator.clipboard?.writeText(text).then(() => true, () => false);
  announce(done ? "Copied" : "This browser does not let the page copy text");
  button.classList.toggle("done", Boolean(done));
  setTimeout(() => button.classList.remove("done"), 1500);
}
