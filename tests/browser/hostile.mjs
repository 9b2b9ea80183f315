import { input, signIn, story } from "./lib.mjs";

await story(async (page) => {
  const dialogs = [];
  page.on("dialog", async (dialog) => {
    dialogs.push(dialog.message());
    await dialog.dismiss();
  });
  await signIn(page, "/access");
  const row = page.getByTestId("grant-row").filter({ hasText: "<script>" }).first();
  await row.waitFor();
  const shown = await row.innerText();
  await page.goto(`${input.url}${input.resource}/access`);
  await page.getByTestId("cluster-name").waitFor();
  await page.goto(`${input.url}/?q=${encodeURIComponent("<img src=x onerror=alert(3)>\"'")}`);
  await page.getByTestId("search").first().waitFor();
  const injected = await page.locator("img[onerror], img[src=x]").count();
  return { dialogs, shown, injected };
});
