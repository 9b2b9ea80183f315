// A page that shows a stream, and its end when the grant is revoked at another screen.
import { becomes, hears, input, signIn, story, violations } from "./lib.mjs";

await story(async (page, context) => {
  const found = [];
  await signIn(page, `/access/${input.grant}`);
  const rows = page.getByTestId("stream-row");
  await rows.first().waitFor();
  await hears(page);
  const shown = await rows.allInnerTexts();
  await page.evaluate(() => (window.same = true));
  found.push(...(await violations(page)));

  const other = await context.newPage();
  await other.goto(`${input.url}/access`);
  const row = other.getByTestId("grant-row").filter({ hasText: input.reason });
  await row.getByTestId("revoke").click();
  const dialog = other.getByTestId("dialog-revoke");
  await dialog.waitFor();
  const said = await dialog.getByTestId("consequences").innerText();
  await other.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
  await becomes(other, () => document.activeElement?.getAttribute("data-testid") === "revoke");
  const back = await other.evaluate(() => document.activeElement?.getAttribute("data-testid"));
  await row.getByTestId("revoke").click();
  await dialog.locator("textarea[name=why]").fill("wrong <b>cluster</b>");
  await dialog.getByTestId("submit").click();
  await other.getByTestId("ended-row").filter({ hasText: input.reason }).waitFor();

  await page.getByTestId("ended").waitFor();
  await rows.first().waitFor({ state: "detached" });
  const unloaded = await page.evaluate(() => window.same === true);
  const ended = await page.getByTestId("ended").innerText();
  found.push(...(await violations(page)));
  return { shown, said, back, unloaded, ended, violations: found };
});
