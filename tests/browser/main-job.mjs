import { dropSignedOut, input, nameField, signIn, story, violations } from "./lib.mjs";

await story(async (page, context, errors) => {
  const found = [];
  await signIn(page);
  if (input.import) await importCluster(page, context);
  await page.getByTestId("cluster-row").first().waitFor();
  found.push(...(await violations(page)));

  await page.locator("#find").getByTestId("search").fill(input.cluster);
  const row = page.getByTestId("cluster-row").filter({ has: page.getByRole("link", { name: input.cluster, exact: true }) });
  await row.first().waitFor();
  await page.waitForURL((url) => url.searchParams.get("q") === input.cluster);
  await row.first().getByRole("link", { name: input.cluster, exact: true }).click();
  await page.getByTestId("cluster-name").filter({ hasText: input.cluster }).waitFor();
  found.push(...(await violations(page)));

  await page.getByTestId("kubeconfig").click();
  const dialog = page.getByTestId("dialog-kubeconfig");
  await dialog.waitFor();
  if (!(await dialog.locator("input[name=rights][value=read]").isChecked())) throw new Error("read is not the default");
  found.push(...(await violations(page)));
  // A reason is needed.
  await dialog.locator("textarea[name=reason]").fill(input.reason);
  const [download] = await Promise.all([page.waitForEvent("download"), dialog.getByTestId("download").click()]);
  const file = `${process.env.FOLDER}/${download.suggestedFilename()}`;
  await download.saveAs(file);
  await page.getByTestId("kubeconfig-result").waitFor();

  await page.goto(`${input.url}/access`);
  await page.getByTestId("grant-row").filter({ hasText: input.reason }).first().waitFor();
  found.push(...(await violations(page)));
  const cookies = await context.cookies(input.url);
  const cookie = cookies.find((one) => one.name.startsWith("__Host-")) ?? cookies[0];

  await page.getByTestId("person").locator("summary").click();
  const before = errors.length;
  await page.getByTestId("sign-out").click();
  await page.waitForURL((url) => !url.pathname.startsWith("/access"));
  dropSignedOut(errors, before);
  // The cookie as it was, from outside the browser's jar.
  const after = await context.request.get(`${input.url}/api/info`, {
    headers: { accept: "application/json", cookie: `${cookie.name}=${cookie.value}` },
  });
  // Nor does the provider let the browser in again unasked.
  await page.goto(input.url);
  const asked_again = await page.locator(nameField).waitFor().then(() => true);
  return { asked_again, file, violations: found, cookie, after_sign_out: after.status() };
});

/** By the JSON API, as a script of the page's own person would. */
async function importCluster(page, context) {
  const info = await (await context.request.get(`${input.url}/api/info`)).json();
  const answer = await context.request.post(`${input.url}/api/v1/imports`, {
    data: input.import,
    headers: { "x-csrf-token": info.csrf, origin: input.url },
  });
  if (!answer.ok()) throw new Error(`import: ${answer.status()} ${await answer.text()}`);
  // The list follows the store.
  for (;;) {
    await page.goto(input.url);
    if (await page.getByTestId("cluster-row").count()) return;
  }
}
