// Without scripts: filter, sort, choose columns, keep a view and remove it, jump, export, ask the fleet.
import { readFileSync } from "node:fs";
import { fillIn, input, noScript } from "./lib.mjs";

await noScript(async (page) => {
  const seen = {};
  await page.goto(input.url);
  await fillIn(page);
  const rows = page.getByTestId("cluster-row");
  await rows.first().waitFor();

  await page.getByTestId("filters").locator("summary").click();
  await page.locator("#f-version").fill(input.version);
  await page.getByTestId("filters").getByRole("button", { name: "Apply" }).click();
  await page.waitForURL((url) => url.searchParams.get("version") === input.version);
  seen.filtered = await page.getByTestId("cluster-count").innerText();
  await page.locator("#sort-name").click();
  await page.waitForURL((url) => url.searchParams.get("sort") === "name");
  seen.sorted = await page.locator("th[aria-sort]").getAttribute("aria-sort");

  await page.getByTestId("columns").locator("summary").click();
  await page.getByTestId("columns").getByLabel("Region").check();
  await page.getByTestId("columns").getByRole("button", { name: "Apply" }).click();
  await page.locator("#sort-region").waitFor();
  seen.kept = new URL(page.url()).searchParams.get("version");

  await page.getByTestId("save-view").locator("summary").click();
  await page.locator("#view-name").fill("view <b>of a story</b>");
  await page.getByTestId("save-view").getByRole("button", { name: "Save" }).click();
  const tab = page.getByTestId("saved-view").filter({ hasText: "view <b>of a story</b>" });
  await tab.waitFor();
  seen.current = await tab.getAttribute("aria-current");

  const [file] = await Promise.all([page.waitForEvent("download"), page.getByTestId("bulk").locator("button[value=csv]").click()]);
  await file.saveAs(`${process.env.FOLDER}/clusters.csv`);
  const lines = readFileSync(`${process.env.FOLDER}/clusters.csv`, "utf8").trim().split("\r\n");
  seen.csv = lines.length - 1;

  await page.getByTestId("save-view").locator("summary").click();
  await page.getByTestId("remove-view").click();
  await page.waitForURL((url) => url.pathname === "/");
  seen.removed = await tab.count();

  await rows.first().locator("input[name=pick]").check();
  await page.getByTestId("bulk").locator("button[value=promql]").click();
  await page.waitForURL((url) => url.pathname === "/fleet");
  seen.fleet = new URL(page.url()).searchParams.get("clusters").startsWith("names:");

  await page.goto(`${input.url}/jump`);
  await page.getByTestId("search").fill(`${input.name} nodes`);
  await page.getByRole("button", { name: "Search" }).first().click();
  await page.getByTestId("jump-item").filter({ hasText: "Nodes" }).first().click();
  await page.waitForURL((url) => url.pathname.endsWith("/nodes"));
  // A place that nobody gave is said, with the way back.
  await page.goto(`${input.url}/?after=AAAA`);
  seen.bad = await page.locator("main").innerText();
  return { seen };
});
