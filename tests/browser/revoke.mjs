import { input, signIn, story } from "./lib.mjs";

await story(async (page) => {
  await signIn(page, "/access");
  const row = page.getByTestId("grant-row").filter({ hasText: input.reason });
  await row.getByTestId("revoke").click();
  await page.getByTestId("dialog-revoke").getByTestId("submit").click();
  const ended = page.getByTestId("ended-row").filter({ hasText: input.reason });
  await ended.first().waitFor();
  return { rows: await row.count(), ended: true };
});
