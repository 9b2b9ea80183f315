import { becomes, hears, input, signIn, story } from "./lib.mjs";

await story(async (page) => {
  await signIn(page);
  await page.getByTestId("cluster-row").first().waitFor();
  const keys = {};
  // The row that holds the focus, by its place: the wanted one, or another.
  const row = async (wanted) => {
    await becomes(page, (at) => document.querySelectorAll("[data-row]")[at]?.contains(document.activeElement), wanted);
    return page.evaluate(() => [...document.querySelectorAll("[data-row]")].findIndex((one) => one.contains(document.activeElement)));
  };

  await page.keyboard.press("Tab");
  keys.skip = await page.evaluate(() => document.activeElement?.getAttribute("href") === "#main");
  // The skip link, the name of the product, the search.
  await page.keyboard.press("Tab");
  await page.keyboard.press("Tab");
  keys.third = await becomes(page, () => document.activeElement?.getAttribute("name") === "q" && !!document.activeElement.form?.querySelector("[type=submit]"));
  await page.keyboard.press("Escape");
  await page.keyboard.press("/");
  keys.search = await becomes(page, () => document.activeElement?.getAttribute("name") === "q");
  await page.keyboard.press("Escape");
  await page.keyboard.press("g");
  await page.keyboard.press("a");
  await page.getByTestId("panel-grants").waitFor();
  await hears(page);
  await page.keyboard.press("g");
  await page.keyboard.press("c");
  await page.getByTestId("cluster-row").first().waitFor();
  await hears(page);
  keys.clusters = new URL(page.url()).pathname;

  await page.keyboard.press("j");
  keys.first = await row(0);
  await page.keyboard.press("j");
  keys.second = await row(1);
  await page.keyboard.press("k");
  keys.back = await row(0);
  const name = await page.evaluate(() => document.activeElement?.textContent);
  await page.keyboard.press("Enter");
  await page.getByTestId("cluster-name").waitFor();
  await hears(page);
  keys.opened = (await page.getByTestId("cluster-name").innerText()).includes(name);

  await page.keyboard.press("f");
  const dialog = page.getByTestId("dialog-kubeconfig");
  await dialog.locator("textarea[name=reason]").waitFor();
  keys.dialog = await becomes(page, () => {
    const one = document.querySelector("[data-testid=dialog-kubeconfig]");
    return one?.matches(":modal") && one.contains(document.activeElement);
  });
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
  keys.closed = true;
  keys.focus_back = await becomes(page, () => document.activeElement?.getAttribute("data-testid") === "kubeconfig");
  // Back shows the list as it is now; errors of the pages are collected by the story.
  await page.goBack();
  await page.getByTestId("cluster-row").first().waitFor();
  await page.goForward();
  await page.getByTestId("cluster-name").waitFor();
  await page.goBack();
  await page.getByTestId("cluster-row").first().waitFor();
  await hears(page);
  // Single keys switched off do nothing, on the next page too.
  await page.goto(`${input.url}/keys`);
  await hears(page);
  await page.getByTestId("single-keys").click();
  await page.goto(input.url);
  await page.getByTestId("cluster-row").first().waitFor();
  await hears(page);
  await page.keyboard.press("/");
  keys.off = await page.evaluate(() => document.activeElement?.getAttribute("name") !== "q");
  return { keys };
});
