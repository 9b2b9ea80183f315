// Under an elevation: a kubeconfig that only reads unless asked, one that writes, and the end of it all.
import { input, signIn, story, violations } from "./lib.mjs";

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
  const barred = await page.getByTestId("dialog-kubeconfig").getByText("Elevate first").count();
  await page.goto(`${input.url}/elevate?cluster=${encodeURIComponent(input.cluster)}`);
  await page.getByTestId("elevate-form").locator("textarea[name=reason]").fill(input.reason);
  await page.getByTestId("elevate-form").getByTestId("submit").click();
  await page.getByTestId("elevation").waitFor();

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
  return { barred, preset: preset.preset, read: preset.file, write: write.file, kind, fellBefore, banners, after, violations: found };
});
