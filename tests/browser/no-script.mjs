import { fillIn, input, noScript } from "./lib.mjs";

await noScript(async (page, context) => {
  await page.goto(input.url);
  await fillIn(page);
  const rows = page.getByTestId("cluster-row");
  await rows.first().waitFor();
  let pages = 1;
  for (; await page.locator("#page-next").count(); pages += 1) {
    const before = page.url();
    await page.locator("#page-next").click();
    await page.waitForURL((url) => url.href !== before);
  }
  // One with an API that answers.
  await page.goto(input.url);
  const name = await rows.filter({ hasText: "Healthy" }).first().getByRole("link").first().innerText();
  await page.goto(input.url);
  // A whole name would open its page; the slash is in every resource ID.
  const words = `${name} /`;
  await page.locator("#find").getByTestId("search").fill(words);
  await page.locator("#find").getByRole("button", { name: "Search" }).click();
  await page.waitForURL((url) => url.searchParams.get("q") === words);
  const found = await rows.count();
  await rows.first().getByRole("link", { name, exact: true }).click();
  await page.getByTestId("cluster-name").waitFor();
  await page.getByTestId("kubeconfig").click();
  const dialog = page.getByTestId("dialog-kubeconfig");
  const reason = dialog.locator("textarea[name=reason]");
  await reason.fill("          .");
  await dialog.getByTestId("download").click();
  // Refused with the form as it was, and a sentence at the field.
  await page.locator("textarea[name=reason][aria-invalid=true]").waitFor();
  const mistake = await page.locator(".field-error").first().isVisible();
  await reason.fill("taken without a script");
  const [download] = await Promise.all([page.waitForEvent("download"), dialog.getByTestId("download").click()]);
  const file = `${process.env.FOLDER}/no-script.kubeconfig`;
  await download.saveAs(file);
  await page.goto(`${input.url}/access`);
  await page.getByTestId("grant-row").filter({ hasText: "taken without a script" }).first().waitFor();
  await page.getByTestId("person").locator("summary").click();
  await page.getByTestId("sign-out").click();
  await page.waitForURL((url) => url.pathname !== "/access");
  const after = await context.request.get(`${input.url}/api/info`, { headers: { accept: "application/json" } });
  return { pages, found, mistake, file, after_sign_out: after.status() };
});
