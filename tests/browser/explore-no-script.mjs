// Reading metrics without scripts: forms and tables.
import { fillIn, input, noScript } from "./lib.mjs";

await noScript(async (page) => {
  const seen = {};
  await page.goto(`${input.url}${input.resource}/explore`);
  await fillIn(page);
  const ask = async (query, kind) => {
    await page.locator("textarea[name=query]").fill(query);
    await page.locator("label", { hasText: kind }).first().click();
    await page.getByTestId("run").first().click();
    await page.waitForURL((url) => url.searchParams.get("query") === query);
  };
  await ask(input.query, "Range");
  seen.range = await page.getByTestId("series-row").count();
  await ask("up", "Instant");
  seen.instant = await page.getByTestId("series-row").count();
  await ask(input.wrong.query, "Range");
  seen.mistake = await page.getByTestId("wrong").innerText();
  await page.goto(`${input.url}${input.resource}/statistics`);
  seen.values = await page.getByRole("link", { name: /^Values/ }).count();
  await page.getByRole("link", { name: /^Values/ }).nth(1).click();
  await page.waitForURL((url) => url.pathname.endsWith("/explore") && url.searchParams.get("run") === "1");
  seen.statistic = await page.locator("[data-testid=series-row], [data-testid=empty]").count();
  await page.goto(`${input.url}${input.resource}/alerts?wait=1`);
  seen.alerts = await page.getByTestId("alert-group").count();
  await page.goto(`${input.url}/fleet`);
  await page.locator("textarea[name=query]").fill("up");
  await page.getByTestId("clusters").fill(input.cluster);
  await page.getByTestId("run").click();
  await page.waitForURL((url) => url.searchParams.get("run") === "1");
  seen.fleet = await page.getByTestId("answer-row").count();
  return seen;
});
