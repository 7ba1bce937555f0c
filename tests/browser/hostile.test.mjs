// Text is data: nothing in a question, an answer or a project runs, loads or gets out, and no other site gets in.
import assert from "node:assert/strict";
import { once } from "node:events";
import http from "node:http";
import { hostile } from "./lib/hostile.mjs";
import { scenario } from "./lib/world.mjs";

/** As many as an ask can have. */
const BATCH = 16;

/** Another server, which nobody should ever reach: every connection counts. */
async function elsewhere(html, body) {
  const connections = [];
  const server = http.createServer((_, response) => response.writeHead(200, { "content-type": "text/html" }).end(html));
  server.on("connection", (socket) => connections.push(socket.remotePort));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  try {
    await body(`http://localhost:${server.address().port}`, connections);
  } finally {
    server.close();
    server.closeAllConnections();
  }
}

scenario("200 hostile strings in every field: no script, no request to anywhere", (world) => elsewhere("", async (outside, connections) => {
  const HOSTILE = hostile(`${outside}/leak`);
  assert.ok(HOSTILE.length >= 200, `${HOSTILE.length} strings`);
  const page = await world.page();
  await page.evaluate(() => {
    Object.assign(globalThis, { hits: 0, hit: () => hits++ });
    addEventListener("securitypolicyviolation", (event) => console.error(`policy: ${event.violatedDirective} ${event.blockedURI}`));
  });
  for (let at = 0; at < HOSTILE.length; at += BATCH) {
    const strings = HOSTILE.slice(at, at + BATCH);
    const questions = strings.map((text) => ({ question: text, header: text, multiSelect: false, options: [{ label: text, description: text, preview: text }, { label: `# ${text}`, description: "", preview: `# heading\n\n${text}\n\n- ${text}\n\n\`\`\`\n${text}\n\`\`\`` }] }));
    const asked = await world.ask(questions, { session: `s-${at}`, cwd: `/home/me/${strings[0].replaceAll(/[\0/]/g, "")}`, extra: await world.transcript(strings.join("\n\n"), strings[0]) });
    await page.locator(".card.expanded .question").nth(questions.length - 1).waitFor();
    await page.locator(".branch:visible").waitFor();
    await page.getByText("What the agent said before").click();
    for (const option of await page.locator(".option[role=radio]").all()) await option.evaluate((element) => element.focus());
    const answers = Object.fromEntries(questions.map(({ question }) => [question, question]));
    await world.post(`/v1/asks/${asked.key}/answer`, { answers, notes: answers });
    await page.locator(".card.settled").waitFor();
    await page.getByRole("button", { name: "Close" }).click();
    await page.locator(".empty h2").waitFor();
  }
  await page.locator("#to-history").click();
  await page.locator(".entry").nth(Math.ceil(HOSTILE.length / BATCH) - 1).waitFor();
  assert.equal(await page.evaluate(() => hits), 0);
  assert.equal(await page.evaluate(() => document.querySelectorAll("main script, main img, main object, main embed, main a[href]:not([href^='#'])").length), 0);
  assert.deepEqual(connections, []);
  // The frames of HTML previews say what they have blocked; the page itself has nothing to block.
  world.complaints = world.complaints.filter((text) => !/sandboxed|v1\/previews|violates the following Content Security Policy directive: "(img-src data:|default-src 'none'|style-src 'unsafe-inline')"/.test(text));
}));

scenario("an HTML preview is shown in a frame that can do nothing", (world) => elsewhere("", async (outside, connections) => {
  const html = `<div style="color: rgb(1, 2, 3)">A <b>mock-up</b></div><script>top.hits++; fetch("/v1/asks")</script><img src="${outside}/x.png" onerror="top.hits++"><form action="/v1/stop" method="post"><button>go</button></form><meta http-equiv="refresh" content="0; url=/v1/asks">`;
  await world.ask([{ question: "Which?", header: "H", multiSelect: false, options: [{ label: "A", description: "", preview: html }, { label: "B", description: "", preview: "plain" }] }]);
  const page = await world.page();
  await page.evaluate(() => Object.assign(globalThis, { hits: 0 }));
  const frame = page.frameLocator(".preview iframe");
  await frame.getByText("mock-up").waitFor();
  assert.equal(await page.locator(".preview iframe").getAttribute("sandbox"), "");
  assert.equal(await frame.locator("div").evaluate((element) => getComputedStyle(element).color), "rgb(1, 2, 3)");
  await frame.getByRole("button", { name: "go" }).click();
  assert.equal(await page.evaluate(() => hits), 0);
  assert.equal((await world.get("/v1/version")).pid, (await world.record()).pid);
  assert.deepEqual(connections, []);
  // The browser says what it has blocked.
  world.complaints = world.complaints.filter((text) => !/sandbox|Content Security Policy|blocked/i.test(text));
}));

scenario("a page of another site reads nothing and changes nothing", (world) => elsewhere("<!doctype html><title>elsewhere</title>", async (site) => {
  const { key } = await world.post("/v1/asks", { questions: [{ question: "Which?" }] });
  const { token } = await world.record();
  const page = await world.page({ signedIn: false });
  await page.goto(site);
  const results = await page.evaluate(
    async ({ url, key, token }) => {
      const answer = JSON.stringify({ answers: { "Which?": "pwned" } });
      const attempt = (promise) => promise.then((value) => `got ${value}`, () => "refused");
      const load = (element, attributes) =>
        new Promise((resolve) => {
          Object.assign(element, attributes, { onload: () => resolve("loaded"), onerror: () => resolve("refused") });
          document.body.append(element);
          setTimeout(() => resolve("refused"), 3000);
        });
      return {
        fetch: await attempt(fetch(`${url}/v1/asks`, { headers: { authorization: `Bearer ${token}` } })),
        opaque: await attempt(fetch(`${url}/v1/asks/${key}/answer`, { method: "POST", mode: "no-cors", body: answer }).then(({ type }) => (type === "opaque" ? Promise.reject() : type))),
        image: await load(new Image(), { src: `${url}/page/icon.svg` }),
        script: await load(document.createElement("script"), { src: `${url}/page/main.js`, type: "module" }),
        events: await attempt(new Promise((resolve, reject) => Object.assign(new EventSource(`${url}/v1/events`), { onopen: () => resolve("open"), onerror: reject }))),
        socket: await attempt(new Promise((resolve, reject) => Object.assign(new WebSocket(`${url.replace("http", "ws")}/v1/events`), { onopen: () => resolve("open"), onerror: reject }))),
      };
    },
    { url: world.url, key, token },
  );
  for (const [way, result] of Object.entries(results)) assert.equal(result, "refused", way);
  await page.evaluate(
    ({ url, key }) => {
      const form = Object.assign(document.createElement("form"), { method: "post", enctype: "text/plain", action: `${url}/v1/asks/${key}/answer` });
      document.body.append(form);
      form.submit();
    },
    { url: world.url, key },
  );
  await page.waitForURL(`${world.url}/**`);
  assert.equal((await world.get(`/v1/asks/${key}`)).state, "open");
  world.complaints = [];
}));

scenario("no frame shows the page", (world) => elsewhere(`<!doctype html><iframe src="${world.url}/"></iframe>`, async (site) => {
  const page = await world.page({ signedIn: false });
  await page.goto(site);
  assert.equal(await page.frameLocator("iframe").locator(".brand").count(), 0);
  world.complaints = [];
}));
