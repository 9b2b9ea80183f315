// The session is lost while somebody types: they sign in again and find what they typed.
import { fillIn, input, nameField, signIn, story } from "./lib.mjs";

await story(async (page, context) => {
  await signIn(page, "/elevate");
  const form = page.getByTestId("elevate-form");
  await form.locator("input[name=cluster]").fill(input.cluster);
  await form.locator("input[name=life][value='7200']").check({ force: true });
  await form.locator("textarea[name=reason]").fill(input.reason);
  await context.clearCookies();
  await form.getByTestId("submit").click();
  await page.locator(nameField).waitFor();
  await fillIn(page);
  await form.waitFor();
  const typed = {
    cluster: await form.locator("input[name=cluster]").inputValue(),
    life: await form.locator("input[name=life]:checked").getAttribute("value"),
    reason: await form.locator("textarea[name=reason]").inputValue(),
  };
  // Sent, it is forgotten.
  await form.getByTestId("submit").click();
  await page.getByTestId("end-elevation").click();
  await page.getByTestId("elevation").waitFor({ state: "detached" });
  await page.goto(`${input.url}/elevate`);
  const after = await form.locator("textarea[name=reason]").inputValue();
  return { typed, after };
});
