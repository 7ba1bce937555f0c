// Text is data: nothing in a question, an answer or a project runs, loads or gets out, and no other site gets in.
//
// Each test makes the same attack twice: where nothing stops it, to prove that it works and would be noticed, and then at the page.
import assert from "node:assert/strict";
import { until } from "../lib/until.mjs";
import { Elsewhere } from "./lib/elsewhere.mjs";
import { countHits, expectUnreached, hostile, leave } from "./lib/hostile.mjs";
import { scenario } from "./lib/world.mjs";

/** As many as an ask can have. */
const BATCH = 16;

/** Two sites: `open` for the attacks that succeed, and `outside`, which nothing on the page may reach. */
async function withSites(body) {
  const sites = { open: new Elsewhere(), outside: new Elsewhere() };
  await Promise.all(Object.values(sites).map((site) => site.start()));
  try {
    await body(sites);
  } finally {
    for (const site of Object.values(sites)) site.stop();
  }
}

/** Waits until the preview of the focused option is there. Resolves to whether it is a frame, which has loaded then. */
async function previewShown(option) {
  const preview = option.locator("xpath=ancestor::section").locator(".preview");
  if ((await preview.locator(".frame").count()) === 0) return false;
  const frame = await (await preview.locator(".frame iframe").elementHandle()).contentFrame();
  await frame.waitForLoadState("load");
  return true;
}

scenario("200 hostile strings in every field: no script, no request to anywhere", (world) => withSites(async ({ open, outside }) => {
  open.pages = { "/": "<!doctype html><title>careless</title>" };
  const careless = await world.page({ signedIn: false });
  const control = await countHits(careless);
  await careless.goto(open.url);
  await careless.evaluate((strings) => strings.forEach((text) => document.body.insertAdjacentHTML("beforeend", text)), hostile(`${open.url}/leak`));
  await until("a hostile string to run where nothing stops it", () => control.hits > 0);
  await until("a hostile string to get out where nothing stops it", () => open.wasAskedFor("/leak"));
  await leave(careless);
  world.complaints = [];

  const HOSTILE = hostile(`${outside.url}/leak`);
  assert.ok(HOSTILE.length >= 200, `${HOSTILE.length} strings`);
  const page = await world.page();
  const counter = await countHits(page);
  await page.evaluate(() => addEventListener("securitypolicyviolation", (event) => console.error(`policy: ${event.violatedDirective} ${event.blockedURI}`)));
  let frames = 0;
  for (let at = 0; at < HOSTILE.length; at += BATCH) {
    const strings = HOSTILE.slice(at, at + BATCH);
    const questions = strings.map((text) => ({ question: text, header: text, multiSelect: false, options: [{ label: text, description: text, preview: text }, { label: `# ${text}`, description: "", preview: `# heading\n\n${text}\n\n- ${text}\n\n\`\`\`\n${text}\n\`\`\`` }] }));
    const asked = await world.ask(questions, { session: `s-${at}`, cwd: `/home/me/${strings[0].replaceAll(/[\0/]/g, "")}`, extra: await world.transcript(strings.join("\n\n"), strings[0]) });
    await page.locator(".card.expanded .question").nth(questions.length - 1).waitFor();
    await page.locator(".branch:visible").waitFor();
    await page.locator(".said-text:visible").waitFor();
    await unfold(page);
    for (const option of await page.locator(".option[role=radio]").all()) {
      await option.evaluate((element) => element.focus());
      if (await previewShown(option)) frames += 1;
    }
    const answers = Object.fromEntries(questions.map(({ question }) => [question, question]));
    await world.post(`/v1/asks/${asked.key}/answer`, { answers, notes: answers });
    await page.locator(".card.settled").waitFor();
    await page.getByRole("button", { name: "Close" }).click();
    await page.locator(".empty h2").waitFor();
  }
  await page.locator("#to-history").click();
  await page.locator(".entry").nth(Math.ceil(HOSTILE.length / BATCH) - 1).waitFor();
  assert.ok(frames >= 10, `${frames} of the previews were frames`);
  await expectUnreached(page, outside);
  assert.equal(counter.hits, 0);
  assert.equal(await page.evaluate(() => document.querySelectorAll("main script, main img, main object, main embed, main a[href]:not([href^='#'])").length), 0);
  // The browser reports what it blocked in the frames of HTML previews. On the page itself there was nothing to block.
  world.complaints = world.complaints.filter((text) => text.includes("policy: ") || !/sandboxed|v1\/previews|violates the following Content Security Policy directive: "(img-src data:|default-src 'none'|style-src 'unsafe-inline')"/.test(text));
}));

/** Everything that can be unfolded or opened on the first card. */
async function unfold(page) {
  for (const button of await page.locator(".show-all:visible").all()) await button.evaluate((element) => element.click());
  for (let left = await page.locator(".unfold").count(); left > 0; left--) await page.locator(".unfold").first().click();
}

scenario("hostile strings in commands, rules, paths, changes, inputs, plans, forms and addresses: no script, no request to anywhere", (world) => withSites(async ({ outside }) => {
  const HOSTILE = hostile(`${outside.url}/leak`);
  const page = await world.page();
  const counter = await countHits(page);
  await page.evaluate(() => addEventListener("securitypolicyviolation", (event) => console.error(`policy: ${event.violatedDirective} ${event.blockedURI}`)));
  const all = HOSTILE.join("\n");
  const fields = Object.fromEntries(HOSTILE.map((text, index) => [`${index} ${text}`.slice(0, 400), index % 3 ? text : { [text]: [text, { deep: text }] }]));
  const rule = (text) => ({ type: "addRules", rules: [{ toolName: "Bash", ruleContent: text }], behavior: "allow", destination: "session" });
  const short = HOSTILE.filter((text) => text.length < 500 && !text.includes("\0"));
  // A question has at most 16 KiB.
  const some = short.join("\n").slice(0, 4000);
  const agent = { agent_id: HOSTILE[0], agent_type: HOSTILE[1] };
  const cards = [
    () => world.permission("Bash", { command: all, description: all }, { extra: { permission_suggestions: short.slice(0, 40).map(rule) } }),
    () => world.permission("Edit", { file_path: `/nowhere/${short[0]}`, old_string: all, new_string: HOSTILE.map((text) => `x${text}`).join("\n") }),
    () => world.permission("Write", { file_path: `/nowhere/${short[1]}`, content: all }, { cwd: `/home/${short[2].replaceAll("/", "")}` }),
    () => world.permission("WebFetch", { url: `javascript:${short[3]}`, prompt: all }),
    () => world.permission(`mcp__${HOSTILE[2]}__${HOSTILE[3]}`, fields, { extra: agent }),
    () => world.plan(all),
    () => world.plan(`# ${short.join("\n\n## ")}`),
    () => world.plan(`| ${short.map((text) => text.replaceAll(/[|\n]/g, " ")).join(" | ")} |\n|---|\n${short.map((text) => `- **${text}** \`${text}\` [${text}](${text})`).join("\n")}`),
    ...Array.from({ length: Math.ceil(short.length / 16) }, (_, at) => () => {
      const some = short.slice(at * 16, at * 16 + 16);
      const field = (text, index) => (index % 4 === 0 ? { type: "string", enum: some, default: text } : index % 4 === 1 ? { type: "array", items: { enum: some }, default: some } : { type: "string", format: ["email", "uri", text, undefined][index % 4], default: text });
      return world.form({ server: some[0], message: some.join("\n"), requested_schema: { type: "object", required: [some[1]], properties: Object.fromEntries(some.map((text, index) => [text, { title: `${index} ${text}`, description: text, ...field(text, index) }])) } });
    }),
    () => world.form({ url: `javascript:${some}`, message: some }),
    () => world.form({ url: `${outside.url}/leak?${encodeURIComponent(short[4])}`, message: some }),
  ];
  for (const [index, open] of cards.entries()) {
    const asked = await open();
    await page.locator(".card.expanded .form").waitFor();
    await unfold(page);
    const { scroll, client } = await page.evaluate(() => ({ scroll: document.documentElement.scrollWidth, client: document.documentElement.clientWidth }));
    assert.ok(scroll <= client, `card ${index} is wider than the page: ${scroll} > ${client}`);
    if (await page.getByRole("button", { name: /^Edit / }).count()) await page.getByRole("button", { name: /^Edit / }).click();
    const { kind, questions } = await world.get(`/v1/asks/${asked.key}`);
    const words = { [questions[0].question]: short[index] };
    if (kind === "form") await world.post(`/v1/asks/${asked.key}/dismiss`, { reason: all.slice(0, 4000) });
    else await world.post(`/v1/asks/${asked.key}/answer`, { answers: { [questions[0].question]: HOSTILE[index + 7] }, notes: words });
    await page.locator(".card.settled").waitFor();
    await page.getByRole("button", { name: "Close" }).click();
    await page.locator(".empty h2").waitFor();
  }
  await page.locator("#to-history").click();
  await page.locator(".entry").nth(cards.length - 1).waitFor();
  for (const summary of await page.locator(".entry summary").all()) await summary.click();
  for (let left = await page.locator(".entry .unfold").count(); left > 0; left--) await page.locator(".entry .unfold").first().click();
  await expectUnreached(page, outside);
  assert.equal(counter.hits, 0);
  assert.equal(await page.evaluate(() => document.querySelectorAll("main script, main img, main object, main embed, main iframe, main a[href]:not([href^='#'])").length), 0);
}));

scenario("an HTML preview is shown in a frame that can do nothing", (world) => withSites(async ({ open, outside }) => {
  const look = '<div style="color: rgb(1, 2, 3)">A <b>mock-up</b></div>';
  const attack = (site) => `<script>top.hit(); fetch("/v1/asks")</script><img src="${site}/x.png" onerror="top.hit()"><form action="/v1/stop" method="post"><button>go</button></form>`;
  const leaves = '<meta http-equiv="refresh" content="0; url=/v1/asks?left">';

  open.pages = { "/": '<iframe src="/preview"></iframe><iframe src="/leaves"></iframe>', "/preview": look + attack(open.url), "/leaves": leaves };
  const careless = await world.page({ signedIn: false });
  const control = await countHits(careless);
  await careless.goto(open.url);
  await until("the script and the image to run code where nothing stops them", () => control.hits >= 2);
  await careless.frameLocator("iframe").first().getByRole("button", { name: "go" }).click();
  for (const path of ["/x.png", "/v1/asks", "/v1/stop", "/v1/asks?left"]) await until(`a request for ${path} where nothing stops it`, () => open.wasAskedFor(path));
  await leave(careless);
  world.complaints = [];

  const page = await world.page();
  const counter = await countHits(page);
  const asked = [];
  page.on("request", (request) => request.frame() !== page.mainFrame() && request.url().startsWith(world.url) && asked.push(`${request.method()} ${new URL(request.url()).pathname}`));
  await world.ask([{ question: "Which?", header: "H", multiSelect: false, options: [{ label: "A", description: "", preview: look + attack(outside.url) + leaves }, { label: "B", description: "", preview: "plain" }] }]);
  const frame = page.frameLocator(".preview iframe");
  await frame.getByText("mock-up").waitFor();
  assert.equal(await page.locator(".preview iframe").getAttribute("sandbox"), "");
  assert.equal(await frame.locator("div").evaluate((element) => getComputedStyle(element).color), "rgb(1, 2, 3)");
  await frame.getByRole("button", { name: "go" }).click();
  // The browser says what it has blocked: the attack was made.
  for (const what of [/Blocked script execution/, /Blocked form submission/, /x\.png' violates the following Content Security Policy/, /Refused to execute the redirect/]) {
    await until(`the browser to report ${what}`, () => world.complaints.some((text) => what.test(text)));
  }
  await expectUnreached(page, outside);
  assert.equal(counter.hits, 0);
  assert.match(asked.join(), /^GET \/v1\/previews\/[^,]+$/);
  await frame.getByText("mock-up").waitFor();
  assert.equal((await world.get("/v1/version")).pid, (await world.record()).pid);
  world.complaints = world.complaints.filter((text) => !/sandbox|Content Security Policy|blocked/i.test(text));
}));

/** What a page gets out of a server, way by way. Only an explicit refusal counts as one: "no answer" is a failure of the test. */
async function attackFrom(page, target) {
  return page.evaluate(async ({ url, key, token }) => {
    const answer = JSON.stringify({ answers: { "Which?": "pwned" } });
    const late = () => new Promise((resolve) => setTimeout(() => resolve("no answer"), 10_000));
    const attempt = (promise) => Promise.race([promise.then((value) => `got ${value}`, () => "refused"), late()]);
    const load = (element, attributes) =>
      attempt(new Promise((resolve, reject) => {
        Object.assign(element, attributes, { onload: () => resolve("it"), onerror: reject });
        document.body.append(element);
      }));
    return {
      fetch: await attempt(fetch(`${url}/v1/asks`, { headers: { authorization: `Bearer ${token}` } }).then(({ type }) => type)),
      opaque: await attempt(fetch(`${url}/v1/asks/${key}/answer`, { method: "POST", mode: "no-cors", body: answer }).then(({ type }) => type)),
      image: await load(new Image(), { src: `${url}/page/icon.svg` }),
      script: await load(document.createElement("script"), { src: `${url}/page/main.js`, type: "module" }),
      events: await attempt(new Promise((resolve, reject) => Object.assign(new EventSource(`${url}/v1/events`), { onopen: () => resolve("open"), onerror: reject }))),
      socket: await attempt(new Promise((resolve, reject) => Object.assign(new WebSocket(`${url.replace("http", "ws")}/v1/events`), { onopen: () => resolve("open"), onerror: reject }))),
    };
  }, target);
}

/** Sends an answer as a form does, which takes the page along. Resolves to the status of the reply. */
async function submitFrom(page, { url, key }) {
  const replied = page.waitForResponse((response) => response.request().method() === "POST");
  await page.evaluate(({ url, key }) => {
    const form = Object.assign(document.createElement("form"), { method: "post", enctype: "text/plain", action: `${url}/v1/asks/${key}/answer` });
    document.body.append(form);
    form.submit();
  }, { url, key });
  const response = await replied;
  await page.waitForURL(`${url}/**`);
  return response.status();
}

scenario("a page of another site reads nothing and changes nothing", (world) => withSites(async ({ open, outside }) => {
  outside.pages = { "/": "<!doctype html><title>elsewhere</title>" };
  const { key } = await world.post("/v1/asks", { questions: [{ question: "Which?" }] });
  const { token } = await world.record();
  const page = await world.page({ signedIn: false });
  const answered = `/v1/asks/${key}/answer`;

  await page.goto(outside.url);
  const control = await attackFrom(page, { url: open.url, key, token });
  assert.deepEqual(control, { fetch: "got cors", opaque: "got opaque", image: "got it", script: "got it", events: "got open", socket: "got open" });
  assert.match(open.requests.find(({ path }) => path === answered)?.body ?? "", /pwned/);
  assert.equal(await submitFrom(page, { url: open.url, key }), 200);
  assert.equal(open.requests.filter(({ path, method }) => path === answered && method === "POST").length, 2);

  await page.goto(outside.url);
  const results = await attackFrom(page, { url: world.url, key, token });
  for (const [way, result] of Object.entries(results)) assert.equal(result, "refused", way);
  assert.equal(await submitFrom(page, { url: world.url, key }), 403);
  assert.equal((await world.get(`/v1/asks/${key}`)).state, "open");
  world.complaints = [];
}));

scenario("no frame shows the page", (world) => withSites(async ({ outside }) => {
  outside.pages = { "/": `<!doctype html><iframe src="${world.url}/"></iframe><iframe src="/framed"></iframe>`, "/framed": '<span class="brand">framed</span>' };
  const page = await world.page({ signedIn: false });
  await page.goto(outside.url);
  const brands = (nth) => page.frameLocator("iframe").nth(nth).locator(".brand").count();
  assert.equal(await brands(1), 1);
  assert.equal(await brands(0), 0);
  assert.match(world.complaints.join("\n"), /frame-ancestors|X-Frame-Options/);
  world.complaints = [];
}));
