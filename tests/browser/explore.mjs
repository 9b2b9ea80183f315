// The explorer as a person uses it: type, complete, run, zoom, cancel, share, and what goes wrong.
import { readFileSync } from "node:fs";
import { input, signIn, story } from "./lib.mjs";

await story(async (page, context) => {
  const seen = {};
  const dialogs = [];
  page.on("dialog", async (dialog) => {
    dialogs.push(dialog.message());
    await dialog.dismiss();
  });
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  const home = `${input.resource}/explore`;

  // The page is painted before its script is there.
  let release;
  const held = new Promise((done) => (release = done));
  await page.route("**/explore.js", async (route) => {
    await held;
    await route.continue();
  });
  // Bytes of scripts as they came over the wire.
  const cdp = await context.newCDPSession(page);
  await cdp.send("Network.enable");
  const scripts = new Map();
  cdp.on("Network.responseReceived", (e) => e.type === "Script" && scripts.set(e.requestId, { url: e.response.url, bytes: 0 }));
  cdp.on("Network.loadingFinished", (e) => scripts.has(e.requestId) && (scripts.get(e.requestId).bytes = e.encodedDataLength));
  await signIn(page, "/keys");
  await page.goto(input.url + home, { waitUntil: "commit" });
  await page.locator("textarea[name=query]").waitFor();
  seen.painted_first = (await page.getByTestId("editor").count()) === 0;
  release();
  const editor = page.getByTestId("query").first();
  await editor.waitFor();
  await page.unroute("**/explore.js");

  const text = () => page.evaluate(() => document.querySelector("[data-testid=editor]").shadowRoot.querySelector(".cm-content").innerText.trim());
  const clear = async () => {
    await editor.click();
    await page.keyboard.press("Control+A");
    await page.keyboard.press("Delete");
  };
  const run = async (query) => {
    await clear();
    await page.keyboard.insertText(query);
    await page.keyboard.press("Control+Enter");
  };
  const rows = page.getByTestId("series-row");
  const result = page.getByTestId("result").first();
  const settled = () => page.locator("[data-panel]:not([data-busy])").first().waitFor();

  // Type, complete, run. Names may still be loading: then another letter asks again.
  await clear();
  const item = page.locator(".cm-tooltip-autocomplete li", { hasText: input.metric }).first();
  for (;;) {
    await page.keyboard.type(input.metric.slice(0, -2), { delay: 15 });
    if (await item.waitFor({ timeout: 3_000 }).then(() => true, () => false)) break;
    await clear();
  }
  await item.click();
  seen.completed = await text();
  // A range ends at the last whole step, which may be before this young Prometheus had anything: then later once more.
  const drawn = page.getByTestId("chart").locator("canvas");
  for (let tries = 0; tries < 10; tries++) {
    await page.keyboard.press("Control+Enter");
    if (await drawn.waitFor({ timeout: 6_000 }).then(() => true, () => false)) break;
  }
  await drawn.waitFor();
  seen.rows = await rows.count();
  seen.facts = await page.getByTestId("facts").first().innerText();

  // Zoom by dragging; Back goes back.
  const before = await page.getByTestId("window").innerText();
  // Hovered, so that it stands still; in the middle, as a drag that leaves the graph reaches to its edge.
  await settled();
  const over = page.locator(".u-over");
  const size = await over.boundingBox();
  await over.hover({ position: { x: size.width * 0.4, y: size.height / 2 } });
  const box = await over.boundingBox();
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.6, box.y + box.height / 2, { steps: 5 });
  await page.mouse.up();
  await page.waitForURL((url) => url.searchParams.has("end"));
  seen.zoomed = Number.parseFloat(new URL(page.url()).searchParams.get("range"));
  seen.window_changed = (await page.getByTestId("window").innerText()) !== before;
  await page.goBack();
  await page.waitForURL((url) => !url.searchParams.has("end"));
  seen.back = (await page.getByTestId("window").innerText()).includes("now");
  await settled();

  // A slow question is taken back, all the way to Prometheus.
  const asked = page.waitForRequest((request) => request.url().includes("/query") && request.url().includes("sum_over_time"));
  await page.locator("label", { hasText: "Instant" }).first().click();
  await settled();
  await run(input.slow);
  await asked;
  await page.getByTestId("stop").first().waitFor();
  // What Prometheus says of itself: it works on something for three seconds on end, or it does not. Rules, which
  // it evaluates at times, are no such thing.
  const works = async () => {
    const least = encodeURIComponent("min_over_time(prometheus_engine_queries[3s])");
    const answer = await context.request.get(`${input.url}/api/v1/prom${input.resource}/query?query=${least}`);
    return Number((await answer.json()).data?.result?.[0]?.value?.[1]) >= 1;
  };
  const reach = async (wanted) => {
    const until = Date.now() + 20_000;
    while (Date.now() < until) if ((await works()) === wanted) return true;
    return false;
  };
  const worked = await reach(true);
  const failed = page.waitForEvent("requestfailed", (request) => request.url().includes("sum_over_time"));
  await editor.click();
  await page.keyboard.type(" ");
  await failed;
  await page.getByTestId("stop").first().waitFor({ state: "hidden" });
  seen.cancelled = worked;
  // Well before the question would have ended by itself.
  seen.idle_after = await reach(false);

  // A mistake is shown where it is.
  await run(input.wrong.query);
  await page.locator(".verdict-line", { hasText: `olumn ${input.wrong.column}` }).first().waitFor();
  await result.getByText(`column ${input.wrong.column}`).waitFor();
  seen.mistake = true;

  // No metric of that name.
  await run("no_such_metric_at_all");
  await page.getByText("No metric is called").waitFor();
  seen.unknown = true;

  // Text from the cluster is text.
  await run(input.hostile);
  await rows.first().waitFor();
  await settled();
  seen.hostile = await rows.first().innerText();
  seen.injected = await page.locator("img").count();

  // Instant values, exported.
  await run("up");
  await page.getByRole("columnheader", { name: "Value" }).waitFor();
  await settled();
  await page.locator("[data-testid=result] details.menu summary").first().click();
  const [csv] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "CSV" }).click()]);
  await csv.saveAs(`${process.env.FOLDER}/values.csv`);
  seen.csv = readFileSync(`${process.env.FOLDER}/values.csv`, "utf8").split("\r\n")[0];

  // Formatted and explained.
  await run("sum by(job)(rate(up[5m]))");
  await page.getByTestId("format").first().click();
  await page.waitForFunction(() => document.querySelector("[data-testid=editor]").shadowRoot.querySelector(".cm-content").innerText.includes("sum by (job)"));
  seen.explained = await page.getByTestId("panel-explain").innerText();

  // A second query; both are in the link, which shows the same to somebody else.
  await page.getByTestId("add-query").click();
  await page.getByTestId("query").nth(1).waitFor();
  await page.keyboard.insertText("count(up)");
  await page.keyboard.press("Control+Enter");
  await page.locator("[data-panel]").nth(1).locator("canvas").waitFor();
  await page.getByTestId("share").first().click();
  await page.getByText("Link copied").waitFor();
  const link = await page.evaluate(() => navigator.clipboard.readText());
  const other = await context.newPage();
  await other.goto(link);
  await other.locator("[data-panel]").nth(1).locator("canvas").waitFor();
  seen.shared = await other.evaluate(() => [...document.querySelectorAll("[data-testid=editor]")].map((e) => e.shadowRoot.querySelector(".cm-content").innerText.replace(/\s+/g, " ").trim()));
  seen.shared_end = new URL(link).searchParams.has("end");
  await other.close();

  // Kept: in the browser, and on the server under a name.
  await page.getByTestId("save").nth(1).click();
  await page.getByTestId("save-name").fill(input.name);
  await page.getByTestId("save-done").click();
  await page.getByTestId("recent").getByText(input.name).first().waitFor();
  await page.reload();
  await page.getByTestId("recent").getByText(input.name).first().waitFor();
  seen.recent = await page.getByTestId("recent").locator("li").count();

  seen.scripts = [...scripts.values()].filter((one) => one.bytes > 0);
  const once = new Map(seen.scripts.map((one) => [one.url, one.bytes]));
  seen.script_bytes = [...once.values()].reduce((a, b) => a + b, 0);
  return { ...seen, dialogs };
});
