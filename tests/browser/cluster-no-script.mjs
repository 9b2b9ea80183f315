// The same without scripts; tables are sorted and filtered by links and forms.
import { fillIn, input, noScript } from "./lib.mjs";

await noScript(async (page) => {
  const seen = {};
  await page.goto(`${input.url}${input.resource}/overview`);
  await fillIn(page);
  // The first answer may come before the cluster's.
  for (let i = 0; i < 20; i += 1) {
    if (await page.getByTestId("panel-verdict").getByRole("link", { name: input.operator, exact: true }).count()) break;
    await page.goto(`${input.url}${input.resource}/overview?wait=1`);
  }
  await page.getByTestId("panel-verdict").getByRole("link", { name: input.operator, exact: true }).click();
  seen.operator = (await page.locator(".item-name").innerText()).trim();
  await page.getByTestId("tab-nodes").click();
  await page.getByTestId("panel-nodes").getByRole("link", { name: "Node", exact: true }).click();
  await page.waitForURL((url) => url.searchParams.get("sort") === "name");
  const names = await page.getByTestId("panel-nodes").locator("tbody th").allInnerTexts();
  seen.sorted = JSON.stringify(names) === JSON.stringify([...names].sort());
  await page.getByTestId("table-filter").getByRole("searchbox").fill(input.node);
  await page.getByTestId("table-filter").getByRole("button", { name: "Filter" }).click();
  await page.waitForURL((url) => url.searchParams.get("q") === input.node);
  seen.filtered = await page.getByTestId("row").count();
  await page.getByTestId("panel-nodes").getByRole("link", { name: input.node, exact: true }).click();
  seen.node = (await page.locator(".item-name").innerText()).trim();
  await page.getByRole("link", { name: input.machine, exact: true }).first().click();
  seen.machine = (await page.locator(".item-name").innerText()).trim();
  return seen;
});
