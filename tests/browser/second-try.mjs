import { fillIn, input, story, violations } from "./lib.mjs";

await story(async (page, context) => {
  const found = [];
  await page.goto(`${input.url}/access`);
  await page.getByRole("button", { name: "Cancel" }).click();
  await page.getByTestId("panel-solo").waitFor();
  const cancelled = await page.getByTestId("panel-solo").innerText();
  found.push(...(await violations(page)));

  // The page itself leads back to where one wanted to go.
  await page.getByRole("link", { name: "Sign in again" }).first().click();
  await page.fill("input[name=login]", input.account);
  await page.fill("input[name=password]", "not the password");
  await page.getByRole("button", { name: "Sign in" }).click();
  const refused = await page.getByRole("alert").innerText();
  await fillIn(page);
  await page.getByTestId("panel-grants").waitFor();
  const cookies = await context.cookies(input.url);
  const cookie = cookies.find((one) => one.name.startsWith("__Host-"));
  return { cancelled, refused, landed: new URL(page.url()).pathname, violations: found, cookie };
});
