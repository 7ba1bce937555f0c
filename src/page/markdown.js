// Renders the part of Markdown that agents use. It makes no links, loads nothing, and shows HTML as text.

import { h } from "./dom.js";

/**
 * @param {string} text
 * @returns {HTMLElement}
 */
export function markdown(text) {
  const root = h("div", { class: "markdown", dir: "auto" });
  const lines = text.split("\n");
  let at = 0;
  /** Takes the following lines that match, without the matching part. @param {RegExp} pattern */
  const take = (pattern) => {
    const taken = [];
    while (at < lines.length && pattern.test(lines[at])) taken.push(lines[at++].replace(pattern, ""));
    return taken;
  };
  while (at < lines.length) {
    const line = lines[at];
    const fence = line.match(/^\s*(```+|~~~+)/);
    const heading = line.match(/^(#{1,6})\s+(.*)/);
    if (fence) {
      const end = lines.findIndex((other, index) => index > at && other.trim().startsWith(fence[1]));
      const close = end < 0 ? lines.length : end;
      root.append(h("pre", { tabindex: 0 }, lines.slice(at + 1, close).join("\n")));
      at = close + 1;
    } else if (heading) {
      root.append(h("p", { class: "heading" }, ...inline(heading[2])));
      at++;
    } else if (/^\s*[-*+]\s+/.test(line)) {
      root.append(h("ul", {}, ...take(/^\s*[-*+]\s+/).map((item) => h("li", {}, ...inline(item)))));
    } else if (/^\s*\d+[.)]\s+/.test(line)) {
      root.append(h("ol", {}, ...take(/^\s*\d+[.)]\s+/).map((item) => h("li", {}, ...inline(item)))));
    } else if (/^\s*>/.test(line)) {
      root.append(h("blockquote", {}, ...inline(take(/^\s*>\s?/).join("\n"))));
    } else if (/^\s*([-*_])(\s*\1){2,}\s*$/.test(line)) {
      root.append(h("hr"));
      at++;
    } else if (line.trim() === "") {
      at++;
    } else {
      const start = at++;
      while (at < lines.length && lines[at].trim() !== "" && !/^\s*([-*+>]\s|\d+[.)]\s|#{1,6}\s|```|~~~)/.test(lines[at])) at++;
      root.append(h("p", {}, ...inline(lines.slice(start, at).join("\n"))));
    }
  }
  return root;
}

/**
 * @param {string} text
 * @returns {(Node | string)[]}
 */
function inline(text) {
  const parts = [];
  let rest = text;
  while (rest) {
    const found = rest.match(/`([^`]+)`|\*\*([^*]+)\*\*|__([^_]+)__|\*([^*\s][^*]*)\*|\[([^\]]+)\]\(([^)\s]+)\)/);
    if (!found || found.index === undefined) break;
    parts.push(rest.slice(0, found.index));
    const [whole, code, strong, strongToo, emphasis, label, target] = found;
    if (code) parts.push(h("code", {}, code));
    else if (strong || strongToo) parts.push(h("strong", {}, strong || strongToo));
    else if (emphasis) parts.push(h("em", {}, emphasis));
    // The target of a link is shown, but cannot be clicked: an agent wrote it.
    else parts.push(label === target ? target : `${label} (${target})`);
    rest = rest.slice(found.index + whole.length);
  }
  return [...parts, rest];
}
