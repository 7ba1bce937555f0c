// What the page shows, as an address: the inbox with its filter, one ask in it, or the history with its search. So a reload, Back and a
// bookmark bring people to where they were.

/** @typedef {{ view: "inbox" | "history", ask?: string, filter?: Record<string, string> }} Place `ask` is a key; `filter` also has the text of a search */

/** The place that the address names. @returns {Required<Place>} */
export function here() {
  const hash = location.hash.slice(1);
  // Notifications and older links name an ask like this.
  const linked = new URLSearchParams(hash).get("ask");
  if (linked && !hash.startsWith("/")) return { view: "inbox", ask: linked, filter: {} };
  const [path, query = ""] = hash.split("?");
  const filter = Object.fromEntries(new URLSearchParams(query));
  const ask = path.startsWith("/ask/") ? decoded(path.slice("/ask/".length)) : "";
  return { view: path === "/history" ? "history" : "inbox", ask, filter };
}

/** @param {Place} place */
export function addressOf({ view, ask = "", filter = {} }) {
  const query = String(new URLSearchParams(Object.entries(filter).filter(([, value]) => value)));
  const path = view === "history" ? "/history" : ask ? `/ask/${encodeURIComponent(ask)}` : "/";
  return `#${path}${query && `?${query}`}`;
}

/**
 * Notes where the person is. Back leads to the place before, unless this one replaces it.
 * @param {Place} place
 * @param {boolean} replaces
 */
export function note(place, replaces) {
  const address = addressOf(place);
  if (address === (location.hash || "#/")) return;
  if (replaces) history.replaceState(null, "", address);
  else history.pushState(null, "", address);
}

/** @param {string} text */
function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Whether the browser runs on the daemon's machine: only there the daemon uses HTTP without TLS. */
export const isThisMachine = () => location.protocol === "http:" && ["127.0.0.1", "localhost"].includes(location.hostname);
