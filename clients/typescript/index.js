// A client for the HTTP API of Answerback. It has no dependencies and needs no build step. index.d.ts describes it.
export { Answerback } from "./src/client.js";
export { connect } from "./src/connect.js";
export { AnswerbackError } from "./src/error.js";
export { firstDecision } from "./src/first.js";
