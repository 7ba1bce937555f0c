// A settings file that several people use.
import { ask, TWO_DATABASES as DATABASE } from "../../lib/questions.mjs";
import { Dialog } from "../lib/dialog.mjs";
import { interactive } from "../lib/drivers/interactive.mjs";
import { complaints, withoutAnswerback, withPathOfAnother } from "../lib/shared.mjs";
import { measurement, result, yes } from "./measurement.mjs";

measurement("a shared entry, with Answerback", async (world) => {
  await world.cover("--shared");
  const call = ask(DATABASE);
  const terminal = await interactive(world, call);
  const dialog = await Dialog.of(terminal);
  const [open] = await world.daemon.opened(call);
  await world.daemon.answer(open, { [DATABASE.question]: "SQLite" });
  const { text } = await result(world, call);
  await dialog.gone();
  await world.noHookLeft();
  return { shared: yes(text.includes("SQLite")) };
});

measurement("a shared entry, without Answerback", async (world) => {
  await world.cover("--shared");
  await withoutAnswerback(world);
  return { shared_missing: said(await complaints(world)) };
});

measurement("a path of another machine", async (world) => {
  await withPathOfAnother(world);
  await withoutAnswerback(world);
  return { path_missing: said(await complaints(world)) };
});

function said(complaints) {
  return complaints.length === 0 ? "nothing" : "errors";
}
