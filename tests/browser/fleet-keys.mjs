// By keyboard alone: find a cluster, open it, take a kubeconfig, jump by the palette, export what is chosen.
import { becomes, hears, input, signIn, story, violations } from "./lib.mjs";

await story(async (page) => {
  await signIn(page);
  await page.getByTestId("cluster-row").first().waitFor();
  await hears(page);
  const seen = {};
  const focus = (what) => page.evaluate((name) => document.activeElement?.getAttribute(name), what);

  // Search as one types: the address and the count follow, the focus stays.
  await page.keyboard.press("/");
  await page.keyboard.type(input.name);
  await page.waitForURL((url) => url.searchParams.get("q") === input.name);
  await page.getByTestId("cluster-row").filter({ hasText: input.name }).first().waitFor();
  seen.field = await focus("name");
  await page.keyboard.press("Escape");
  await page.keyboard.press("j");
  await page.keyboard.press("x");
  seen.chosen = await page.locator("[data-picked]").innerText();
  await page.keyboard.press("x");
  await page.keyboard.press("Enter");
  await page.getByTestId("cluster-name").waitFor();
  await hears(page);
  await page.keyboard.press("f");
  const dialog = page.getByTestId("dialog-kubeconfig");
  await dialog.locator("textarea[name=reason]").waitFor();
  await becomes(page, () => document.activeElement?.getAttribute("name") === "reason");
  await page.keyboard.type("taken by keyboard alone");
  const [kubeconfig] = await Promise.all([page.waitForEvent("download"), page.keyboard.press("Control+Enter").then(() => submit(page, dialog))]);
  seen.kubeconfig = kubeconfig.suggestedFilename();
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });

  // The palette: a tab of a cluster by a few letters.
  await page.keyboard.press("Control+k");
  const palette = page.getByTestId("palette");
  await palette.locator("[role=option]").first().waitFor();
  seen.palette = await violations(page);
  await page.keyboard.type(`${input.name} oper`);
  await palette.locator("[role=option]", { hasText: "Operators" }).first().waitFor();
  for (let i = 0; i < 20; i += 1) {
    const chosen = await palette.locator("[role=option][aria-selected=true]").innerText();
    if (chosen.includes("Operators")) break;
    await page.keyboard.press("ArrowDown");
  }
  seen.active = await page.evaluate(() => {
    const at = document.activeElement;
    return at?.getAttribute("role") === "combobox" && document.getElementById(at.getAttribute("aria-activedescendant"))?.getAttribute("aria-selected") === "true";
  });
  await page.keyboard.press("Enter");
  await page.waitForURL((url) => url.pathname.endsWith("/operators"));
  // Enter waits for the answer to what was typed: what is shown until then belongs to other letters.
  await page.keyboard.press("Control+k");
  await palette.locator("[role=option]").first().waitFor();
  await page.keyboard.type(`${input.name} alerts`);
  await page.keyboard.press("Enter");
  await page.waitForURL((url) => url.pathname.includes(input.name) && !url.pathname.endsWith("/operators"));
  await page.keyboard.press("Control+k");
  await palette.waitFor();
  await page.keyboard.press("Escape");
  await palette.waitFor({ state: "detached" });

  // Two rows, as a file of names.
  await page.goto(`${input.url}/?sort=name`);
  await page.getByTestId("cluster-row").first().waitFor();
  const expected = (await page.getByTestId("cluster-row").locator("th a").allInnerTexts()).slice(0, 2);
  for (const key of ["j", "x", "j", "x"]) await page.keyboard.press(key);
  seen.two = await page.locator("[data-picked]").innerText();
  const names = page.getByTestId("bulk").locator("button[value=names]");
  // What can be done with chosen rows stays in view, however long the list is.
  await page.evaluate(() => window.scrollTo(0, 0));
  const [bar, list] = [await names.boundingBox(), await page.locator("#list").boundingBox()];
  const height = page.viewportSize().height;
  seen.inView = list.y + list.height > height && bar.y >= 0 && bar.y + bar.height <= height;
  await names.focus();
  const [file] = await Promise.all([page.waitForEvent("download"), page.keyboard.press("Enter")]);
  const { readFileSync } = await import("node:fs");
  await file.saveAs(`${process.env.FOLDER}/names.txt`);
  seen.names = readFileSync(`${process.env.FOLDER}/names.txt`, "utf8").trim().split("\n").sort().join() === expected.sort().join();

  // Refreshing can be paused, and says so.
  await page.keyboard.press("Escape");
  await page.evaluate(() => document.activeElement?.blur());
  await page.keyboard.press("p");
  seen.paused = await page.locator("[data-act=pause]").first().getAttribute("aria-pressed");
  await page.keyboard.press("?");
  await page.getByTestId("dialog-keys").waitFor();
  return { seen };
});

/** Enter in a text area is a new line: the button is reached by Tab. */
async function submit(page, dialog) {
  for (let i = 0; i < 40; i += 1) {
    const there = await page.evaluate(() => document.activeElement?.getAttribute("data-testid") === "download");
    if (there) return page.keyboard.press("Enter");
    await page.keyboard.press("Tab");
  }
  throw new Error(`the button is not reached: ${await dialog.innerText()}`);
}
