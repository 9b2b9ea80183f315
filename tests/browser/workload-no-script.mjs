// The same without scripts: the last lines of a log as text, filtered by a form; an object by links.
import { fillIn, input, noScript } from "./lib.mjs";

await noScript(async (page) => {
  await page.goto(`${input.url}${input.resource}/pods/default/web/log`);
  await fillIn(page);
  await page.locator("textarea[name=reason]").fill("the story without scripts");
  await page.getByTestId("reason-open").click();
  const log = await page.getByTestId("log-text").innerText();
  await page.locator("input[name=q]").last().fill("very last");
  await page.getByRole("button", { name: "Show" }).click();
  await page.waitForURL((url) => url.searchParams.get("q") === "very last");
  const only = await page.getByTestId("log-text").innerText();
  await page.goto(`${input.url}${input.resource}/resources/core/v1/nodes`);
  await page.getByRole("link", { name: "node-1", exact: true }).click();
  await page.getByTestId("as-json").click();
  const json = await page.getByTestId("object-text").innerText();
  return { log, only, json: json.slice(0, 200) };
});
