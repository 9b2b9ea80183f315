// The explorer without a pointer.
import { input, signIn, story } from "./lib.mjs";

await story(async (page) => {
  const keys = {};
  await signIn(page, input.resource);
  await page.getByTestId("cluster-name").waitFor();
  await page.keyboard.press("q");
  await page.waitForURL((url) => url.pathname.endsWith("/explore"));
  await page.getByTestId("query").waitFor();
  const inEditor = () => page.evaluate(() => document.activeElement?.getAttribute("data-testid") === "editor");
  await page.waitForFunction(() => document.activeElement?.getAttribute("data-testid") === "editor");
  // Letters are text here, not keys of the page.
  await page.keyboard.type("up", { delay: 20 });
  keys.stays = await inEditor();
  await page.keyboard.press("Escape");
  await page.keyboard.press("Control+Enter");
  await page.getByTestId("chart").locator("canvas").waitFor();
  // Tab leaves the editor and comes to the button, then to what came.
  await page.keyboard.press("Tab");
  keys.left = !(await inEditor());
  const focused = () => page.evaluate(() => document.activeElement?.getAttribute("data-testid") ?? document.activeElement?.textContent?.trim());
  const stops = [];
  for (let i = 0; i < 15 && stops.at(-1) !== "chart"; i += 1) {
    stops.push(await focused());
    if (stops.at(-1) === "chart") break;
    await page.keyboard.press("Tab");
  }
  keys.run = stops.includes("run");
  keys.chart = stops.at(-1) === "chart";
  // Arrows move the cursor that the table reads.
  const head = () => page.getByTestId("values").first().locator("thead th").nth(1).innerText();
  const first = await head();
  await page.keyboard.press("Home");
  await page.waitForFunction((was) => document.querySelector("[data-testid=values] thead th:nth-child(2)").textContent !== was, first);
  keys.cursor = true;
  await page.keyboard.press("+");
  await page.waitForURL((url) => url.searchParams.has("end"));
  keys.zoomed = true;
  return { keys };
});
