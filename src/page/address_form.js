// The form of an address that a server of the agent wants a person to open. The page shows all of it, and opens nothing by itself.

import { dialog, fill, h } from "./dom.js";
import { code, prose } from "./visible.js";

/** @implements {Form} */
export class AddressForm {
  /** The person decides with the buttons. */
  keys = /^$/;
  sendTone = /** @type {const} */ ("primary");
  sendLabel = "Accept";
  sendsItself = false;
  isApproval = true;
  isComplete = true;
  draft = null;
  /** @type {string[]} */
  texts = [];
  summary = "Accept";
  dismissal = { label: "Decline", hint: "Tell the server that you do not open it", question: "Decline? The server is told that you do not open the address." };
  /** @type {FormSubject} */
  #subject;
  #element = h("div", { class: "form" });
  #fault = h("p", { class: "fault", role: "alert" });
  #open = h("button", { type: "button" }, "Open the address…");
  aside = h("span", { class: "hint" });

  /** @param {Ask} ask */
  constructor(ask) {
    this.ask = ask;
    this.#subject = /** @type {FormSubject} */ (ask.subject);
  }

  get element() {
    if (!this.#element.hasChildNodes()) this.#build();
    return this.#element;
  }

  answer() {
    return { answers: { [this.ask.questions[0].question]: "Accept" }, notes: {} };
  }

  focus() {
    this.#open.focus({ preventScroll: true });
  }

  press() {}
  undo() {}
  showFaults() {}

  /** @param {AnswerError[]} errors */
  blame(errors) {
    this.#fault.textContent = errors.map(({ problem }) => problem).join(" ");
  }

  /** The address, if a browser may open it. */
  get #address() {
    const { url = "" } = this.#subject;
    try {
      const address = new URL(url);
      return address.protocol === "https:" || address.protocol === "http:" ? address : null;
    } catch {
      return null;
    }
  }

  #build() {
    const { server, message, url = "" } = this.#subject;
    const address = this.#address;
    this.#open.addEventListener("click", () => this.#ask());
    fill(
      this.#element,
      h(
        "section",
        { class: "question" },
        h("div", { class: "asked" }, h("h2", { class: "text", dir: "auto" }, prose(message || "Open this address?")), h("p", { class: "hint" }, "From the MCP server ", h("bdi", {}, code(server)))),
        h("pre", { class: "exact", tabindex: 0, "aria-label": "Address" }, code(url)),
        h("div", { class: "address-actions" }, address && this.#open, h("p", { class: "hint" }, address ? "Do what the server asks there, then accept." : "This is not a web address, so the page does not open it.")),
        this.#fault,
      ),
    );
  }

  /** Nothing opens before the person has seen where it goes. */
  #ask() {
    const address = this.#address;
    if (!address) return;
    const cancel = h("button", { type: "button", class: "quiet" }, "Cancel");
    const open = h("button", { type: "button", class: "primary" }, "Open in a new tab");
    const box = dialog(
      "Open this address?",
      h("p", {}, "It belongs to ", h("strong", { class: "host" }, code(address.host)), address.protocol === "http:" && ", and the connection is not encrypted", "."),
      h("pre", { class: "exact", tabindex: 0, "aria-label": "Address" }, code(address.href)),
      h("footer", {}, cancel, open),
    );
    cancel.addEventListener("click", () => box.close());
    open.addEventListener("click", () => {
      box.close();
      // The other page gets no hold on this one, and does not learn its address.
      window.open(address.href, "_blank", "noopener,noreferrer");
      this.focus();
    });
    cancel.focus();
  }
}
