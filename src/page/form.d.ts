// The contract between a card and its form. For the type checker only; the daemon does not serve this file.

/**
 * The fields of one ask. The card shows them, stores the draft and sends the answer, and knows nothing else about what is asked.
 *
 * A form lives as long as its card, but most cards stay rows. So a form builds its fields when `element` is read for the first time.
 */
interface Form {
  /** The fields. The card makes this element inert while an answer is being sent. */
  readonly element: HTMLElement;
  /** Stands beside the buttons of the card: the progress, or a button of the form's own. */
  readonly aside: HTMLElement;
  /** The label of the button that sends the answer. */
  readonly sendLabel: string;
  /** What that button looks like: it sends, or it refuses. */
  readonly sendTone: "primary" | "danger";
  /** The button that refuses to answer; null if the fields have their own way to do that. */
  readonly dismissal: Dismissal | null;
  /** Whether the answer gives power to the agent. Then Enter only goes to the button that sends. */
  readonly isApproval: boolean;
  /** The input so far, as JSON can hold it; null if there is none. The form of a reloaded page is created with it. */
  readonly draft: unknown;
  /** The input so far, as texts to show a person whose answer came too late. */
  readonly texts: string[];
  /** The answer in one line. */
  readonly summary: string;
  /** Whether the answer can be sent. */
  readonly isComplete: boolean;
  /** Whether the next choice is the whole answer and sends itself. Then no button is needed. */
  readonly sendsItself: boolean;
  /** The keys for `press`. They work anywhere on the card except in text fields. */
  readonly keys: RegExp;
  press(key: string): void;
  answer(): Answer;
  /** Focuses the first field. */
  focus(): void;
  /** Takes back the choice that was about to send itself. */
  undo(): void;
  /** Says at each field why it cannot be sent, and focuses the first such field. */
  showFaults(): void;
  /** Takes back a choice that approves, before the person is brought to this form again. */
  forgetApproval?(): void;
  /** Says at each field what the daemon found wrong with its answer. */
  blame(errors: AnswerError[]): void;
}

/** The words for refusing to answer. */
interface Dismissal {
  label: string;
  /** What the button means. */
  hint: string;
  /** Stands beside the second button; the place of the field for a reason if nobody would read one. */
  question: string | null;
}

/** What a form tells its card. */
interface FormListener {
  /** The input changed, or the person is about to change it. */
  changed(): void;
  /** The person chose the whole answer with one choice. */
  decided(): void;
  /** The last field has an answer now. The next step is the button that sends. */
  filled(): void;
  /** The person wants to send. */
  submit(): void;
}
