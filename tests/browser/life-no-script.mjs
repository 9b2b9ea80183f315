// Elevate, take, extend, revoke and end without scripts.
import { fillIn, input, noScript } from "./lib.mjs";

await noScript(async (page) => {
  await page.goto(`${input.url}/elevate?cluster=${encodeURIComponent(input.cluster)}`);
  await fillIn(page);
  const form = page.getByTestId("elevate-form");
  // To break-glass and back: what was typed stays.
  await form.locator("textarea[name=reason]").fill(input.reason);
  await form.getByTestId("to-break-glass").click();
  await page.getByTestId("break-glass").waitFor();
  const kept = await form.locator("textarea[name=reason]").inputValue();
  await form.getByRole("button", { name: "Ask for approval instead" }).click();
  await form.locator("textarea[name=reason]").fill(input.reason);
  await form.getByTestId("submit").click();
  const banner = page.getByTestId("elevation");
  await banner.waitFor();
  const left = await banner.innerText();

  await page.goto(`${input.url}${input.resource}/kubeconfig`);
  await page.locator("input[name=rights][value=write]").check();
  await page.locator("textarea[name=reason]").fill(`${input.reason}, kept`);
  await Promise.all([page.waitForEvent("download"), page.getByTestId("download").click()]);
  await page.goto(`${input.url}/access`);
  const row = page.getByTestId("grant-row").filter({ hasText: `${input.reason}, kept` });
  await row.getByTestId("revoke").click();
  await page.locator("textarea[name=why]").fill("no longer needed");
  await page.getByTestId("dialog-revoke").getByTestId("submit").click();
  await page.getByTestId("ended-row").filter({ hasText: `${input.reason}, kept` }).waitFor();
  const toast = await page.locator("#toasts").innerText();
  await page.getByTestId("end-elevation").click();
  await page.getByTestId("panel-ended").waitFor();
  return { kept, left, toast, banners: await banner.count() };
});
