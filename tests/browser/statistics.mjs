// Statistics and alerts of a cluster, and one query on the fleet.
import { readFileSync } from "node:fs";
import { hears, input, signIn, story } from "./lib.mjs";

await story(async (page) => {
  const seen = {};
  await signIn(page, input.resource);
  await page.getByTestId("tab-more").locator("summary").click();
  await page.getByTestId("tab-statistics").click();
  const panels = page.locator("[data-chart]");
  await panels.first().waitFor();
  await hears(page);
  seen.charts = await panels.count();
  const settle = async () => {
    for (let i = 0; i < seen.charts; i += 1) {
      await panels.nth(i).scrollIntoViewIfNeeded();
      await panels.nth(i).locator("canvas, .blank").first().waitFor();
    }
  };
  await settle();
  seen.failed = await page.locator("[data-chart] [data-testid=failure]").count();
  seen.drawn = await page.locator("[data-chart] canvas").count();
  await page.locator("label", { hasText: "8 w" }).click();
  await page.waitForURL((url) => url.searchParams.get("range") === "8w");
  await settle();
  seen.failed_8w = await page.locator("[data-chart] [data-testid=failure]").count();
  seen.link = new URL(await page.locator("a[data-query]").first().getAttribute("href"), page.url()).searchParams.get("range");
  // A tab of its own in older links.
  await page.goto(`${input.url}${input.resource}/dnsstatistics`);
  seen.old_tab = new URL(page.url()).pathname.endsWith("/statistics") && new URL(page.url()).hash;

  await page.getByTestId("tab-alerts").click();
  await page.getByTestId("alert-count").waitFor();
  seen.alerts = await page.getByTestId("alert-group").allInnerTexts();
  const to = page.getByTestId("alert-group").first().getByRole("link", { name: "Query" });
  if (await to.count()) {
    await to.first().click();
    await page.getByTestId("result").first().waitFor();
    seen.alert_query = new URL(page.url()).searchParams.get("query");
  }

  await page.goto(`${input.url}/fleet`);
  await page.getByTestId("query").waitFor();
  await page.getByTestId("clusters").fill(input.fleet);
  await page.getByTestId("query").click();
  await page.keyboard.insertText("up");
  await page.keyboard.press("Control+Enter");
  await page.getByTestId("progress").getByText("done").waitFor();
  seen.fleet = await page.getByTestId("progress").innerText();
  seen.answers = await page.getByTestId("answer-row").count();
  seen.faults = await page.getByTestId("fault-row").count();
  seen.partial = await page.getByText("Partial answer.").count();
  const [csv] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "CSV" }).click()]);
  await csv.saveAs(`${process.env.FOLDER}/fleet.csv`);
  seen.csv = readFileSync(`${process.env.FOLDER}/fleet.csv`, "utf8").split("\r\n").slice(0, 2);
  await page.getByTestId("aggregate").selectOption("count");
  await page.getByTestId("run").click();
  await page.getByTestId("series-row").first().waitFor();
  seen.together = await page.getByTestId("series-row").first().innerText();
  return seen;
});
