// Under an elevation: a kubeconfig that only reads unless asked, one that writes, and the end of it all.
import { hears, input, signIn, story, violations } from "./lib.mjs";

async function take(page, rights, reason) {
  await page.goto(`${input.url}${input.resource}/kubeconfig`);
  const dialog = page.getByTestId("dialog-kubeconfig");
  const preset = await dialog.locator("input[name=rights]:checked").getAttribute("value");
  if (rights) await dialog.locator(`input[name=rights][value=${rights}]`).check();
  await dialog.locator("textarea[name=reason]").fill(reason);
  const [download] = await Promise.all([page.waitForEvent("download"), dialog.getByTestId("download").click()]);
  const file = `${process.env.FOLDER}/${rights ?? "preset"}.kubeconfig`;
  await download.saveAs(file);
  return { file, preset };
}

await story(async (page) => {
  const found = [];
  await signIn(page, `${input.resource}/kubeconfig`);
  const dialog = page.getByTestId("dialog-kubeconfig");
  const barred = await dialog.getByText("Elevate first").count();
  // The way to elevate takes along what was typed, and leads back to the dialog.
  await hears(page);
  await dialog.locator("textarea[name=reason]").fill(input.reason);
  await dialog.locator("input[name=ticket]").fill("INC-7");
  await dialog.getByText("Elevate first").first().click();
  const form = page.getByTestId("elevate-form");
  const typed = await form.locator("textarea[name=reason]").inputValue();
  await form.getByTestId("submit").click();
  await page.getByTestId("elevation").waitFor();
  await dialog.waitFor();
  const carried = {
    typed,
    reason: await dialog.locator("textarea[name=reason]").inputValue(),
    ticket: await dialog.locator("input[name=ticket]").inputValue(),
    rights: await dialog.locator("input[name=rights]:checked").getAttribute("value"),
  };

  const preset = await take(page, null, `${input.reason}, reading`);
  const write = await take(page, "write", `${input.reason}, writing`);
  await page.goto(`${input.url}/access`);
  const row = page.getByTestId("grant-row").filter({ hasText: `${input.reason}, writing` });
  const kind = await row.innerText();
  await row.getByRole("link").first().click();
  await page.getByTestId("panel-details").waitFor();
  const fellBefore = await page.getByTestId("fell").count();
  found.push(...(await violations(page)));

  await page.getByTestId("end-elevation").click();
  await page.getByTestId("fell").waitFor();
  const banners = await page.getByTestId("elevation").count();
  const after = await page.locator("main").innerText();
  found.push(...(await violations(page)));
  return { barred, carried, preset: preset.preset, read: preset.file, write: write.file, kind, fellBefore, banners, after, violations: found };
});
