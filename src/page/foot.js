// The foot of a card: what a person can do with it now.

import { fill, h, isComposing } from "./dom.js";

/**
 * @typedef {object} Actions
 * @property {() => void} submit
 * @property {() => void} send sends what waits for its undo time to pass
 * @property {() => void} undo
 * @property {() => void} release
 * @property {(reason: string) => void} dismiss
 * @property {() => void} written the reason for a dismissal has changed
 */

/** @typedef {{ phase: import("./sending.js").Step, canRelease: boolean, pending: string }} Shown `pending` is what is about to be sent */

export class Foot {
  element = h("footer", { class: "card-foot" });
  /** The reason for a dismissal while it is being written. @type {string | null} */
  #reason = null;
  /** What was written of a reason before the person did something else. */
  #keptReason = "";
  /** @type {Shown} */
  #now = { phase: "open", canRelease: false, pending: "" };
  /** Describes the present buttons. */
  #shown = "";

  /**
   * @param {Form} form
   * @param {Actions} actions
   */
  constructor(form, actions) {
    this.form = form;
    this.actions = actions;
  }

  /** @param {string} reason as it was written before */
  set keptReason(reason) {
    this.#keptReason = reason;
  }

  /** A reason for a dismissal is being written. */
  get isDismissing() {
    return this.#reason !== null;
  }

  /** The reason as far as it was written. */
  get reason() {
    return this.#reason ?? this.#keptReason;
  }

  /** Shows the usual buttons again, and keeps the reason for later. */
  putReasonAside() {
    this.#keptReason = this.reason;
    this.#reason = null;
  }

  /** @param {Shown} now */
  show(now) {
    this.#now = now;
    const { phase, canRelease, pending } = now;
    const { sendsItself, sendLabel, sendTone } = this.form;
    // Buttons that stay the same are left alone: the person may be about to click one.
    const shown = JSON.stringify([phase, canRelease, sendsItself, sendLabel, sendTone, this.isDismissing, phase !== "open" && pending]);
    if (shown === this.#shown) return;
    this.#shown = shown;
    const isBusy = phase === "sending";
    if (phase === "undo") this.#showUndo(pending);
    else if (phase === "unsent") this.#showUnsent(pending);
    else if (this.isDismissing) this.#showReason(isBusy);
    else this.#showActions(isBusy);
    for (const control of this.element.querySelectorAll("button, input")) if (control !== this.form.aside) control.toggleAttribute("disabled", isBusy);
    this.form.aside.inert = isBusy;
  }

  get #send() {
    return /** @type {HTMLElement | null} */ (this.element.querySelector("button.send"));
  }

  /** Scrolls to the button that sends. */
  revealSend() {
    this.#send?.scrollIntoView({ block: "nearest" });
  }

  /** Goes to the button that sends, without sending. */
  focusSend() {
    this.#send?.focus();
  }

  /** @param {string} pending */
  #showUndo(pending) {
    fill(
      this.element,
      h("span", { class: "pending" }, "Sending ", h("bdi", {}, h("strong", {}, brief(pending))), "…"),
      button("Undo", "", () => this.actions.undo()),
      button("Send now", "primary", () => this.actions.send()),
    );
  }

  /** The state comes first: it must not be cut off, however long the words are. @param {string} pending */
  #showUnsent(pending) {
    fill(
      this.element,
      h("span", { class: "unsent-state", role: "status" }, "Not sent yet. The page sends it as soon as it reaches the daemon."),
      h("span", { class: "pending", dir: "auto" }, h("strong", {}, brief(pending))),
      button("Do not send", "", () => this.actions.undo()),
    );
  }

  /** What sends is at the end, away from what refuses. @param {boolean} isBusy */
  #showActions(isBusy) {
    const { dismissal, sendsItself, sendLabel, sendTone } = this.form;
    fill(
      this.element,
      dismissal && button(`${dismissal.label}…`, "quiet dismiss", () => this.#dismissing(this.#keptReason), dismissal.hint),
      this.#now.canRelease && button("To the terminal", "quiet", () => this.actions.release(), "Answer in the terminal instead"),
      this.form.aside,
      h("span", { class: "spacer" }),
      (!sendsItself || isBusy) && button(isBusy ? "Sending…" : sendLabel, `send ${sendTone}`, () => this.actions.submit()),
    );
  }

  /** @param {boolean} isBusy */
  #showReason(isBusy) {
    const { label, question } = this.form.dismissal ?? { label: "Dismiss", question: null };
    const field = h("input", { type: "text", placeholder: "Why? Whoever asked will see this", "aria-label": "Reason", dir: "auto" });
    field.value = this.reason;
    const send = () => this.actions.dismiss(field.value.trim());
    field.addEventListener("input", () => {
      this.#reason = field.value;
      this.actions.written();
    });
    field.addEventListener("keydown", (event) => {
      if (event.key === "Escape") {
        event.stopPropagation();
        this.#dismissing(null);
      }
      if (event.key === "Enter" && !isComposing(event) && !event.repeat) send();
    });
    fill(
      this.element,
      question === null ? field : h("span", { class: "pending" }, question),
      button("Cancel", "quiet", () => this.#dismissing(null)),
      // The second click of a double click on "Dismiss…" lands here.
      button(isBusy ? "Sending…" : label, "danger", (event) => event.detail < 2 && send()),
    );
  }

  /** Begins to dismiss, or stops that. @param {string | null} reason */
  #dismissing(reason) {
    this.putReasonAside();
    this.#reason = reason;
    this.show(this.#now);
    const next = /** @type {HTMLElement | null} */ (this.element.querySelector(reason === null ? ".dismiss" : "input, button"));
    next?.focus();
  }
}

/** The beginning of a text, so that what stands behind it is seen too. @param {string} text */
const brief = (text) => (text.length > 100 ? `${text.slice(0, 100).trimEnd()}…` : text);

/**
 * @param {string} label
 * @param {string} kind
 * @param {(event: MouseEvent) => void} action
 * @param {string} [hint]
 */
function button(label, kind, action, hint) {
  return h("button", { type: "button", class: kind, title: hint, on: { click: action } }, label);
}
