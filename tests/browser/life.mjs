// An elevation from the request to its end: two people, each at their own screen, neither reloads.
import { input, signIn, story, violations } from "./lib.mjs";

await story(async (page, context, errors) => {
  const found = [];
  const second = await context.browser().newContext({ ignoreHTTPSErrors: true });
  second.setDefaultTimeout(120_000);
  const theirs = await second.newPage();
  theirs.on("pageerror", (error) => errors.push(String(error)));

  await signIn(theirs, "/elevations", input.approver);
  await theirs.getByTestId("panel-waiting").getByText("No requests waiting").waitFor();
  await theirs.evaluate(() => (window.same = true));

  // A request that policy does not give alone.
  await signIn(page, `/elevate?cluster=${encodeURIComponent(input.cluster)}`);
  await page.locator("input[name=rights][value=admin]").check();
  await page.getByTestId("elevate-form").locator("textarea[name=reason]").fill(input.reason);
  found.push(...(await violations(page)));
  await page.getByTestId("elevate-form").getByTestId("submit").click();
  await page.getByTestId("panel-mine").getByText(input.reason).waitFor();
  const before = await page.getByTestId("elevation").count();
  await page.evaluate(() => (window.same = true));

  // It appears at the approver's screen by itself.
  const row = theirs.getByTestId("elevation-row").filter({ hasText: input.reason });
  await row.waitFor();
  const unasked = await theirs.evaluate(() => window.same === true);
  // So does the title of their page, without a reload.
  await theirs.waitForFunction(() => document.title.startsWith("("));
  const title = await theirs.title();
  found.push(...(await violations(theirs)));
  const link = await row.getByTestId("approve").getAttribute("href");
  const forged = [];
  for (const path of [link, link.replace("approve", "refuse"), `/api/v1${link}`]) {
    // The cookie alone, as a foreign page would have it sent.
    const answer = await second.request.post(`${input.url}${path}`, { form: { why: "forged" }, headers: { origin: input.url } });
    forged.push(answer.status());
  }
  await row.getByTestId("approve").click();
  const dialog = theirs.getByTestId("dialog-approve");
  await dialog.waitFor();
  const modal = await dialog.evaluate((one) => one.matches(":modal") && one.contains(document.activeElement));
  found.push(...(await violations(theirs)));
  await dialog.locator("textarea[name=why]").fill("go on");
  await dialog.getByTestId("submit").click();
  await theirs.getByText("They are elevated from now on.").waitFor();

  // The banner comes to the other's screen by itself.
  const banner = page.getByTestId("elevation");
  await banner.waitFor();
  const unloaded = await page.evaluate(() => window.same === true);
  const told = await banner.innerText();
  found.push(...(await violations(page)));

  // Who presses twice is told who was first.
  await theirs.goto(input.url + link);
  const twice = await theirs.getByTestId("dialog-approve").innerText();
  await page.getByTestId("end-elevation").click();
  await banner.waitFor({ state: "detached" });
  return { before, title, unasked, forged, modal, unloaded, told, twice, link, violations: found };
});
