import { fillIn, input, nameField, signIn, story } from "./lib.mjs";

await story(async (page, context) => {
  await signIn(page, "/keys");
  // With a session at the provider nobody is asked…
  await page.goto(`${input.url}/api/login?redirect_uri=/access`);
  await page.waitForURL(`${input.url}/access`);
  // …but for a fresh sign-in.
  await page.goto(`${input.url}/api/login?fresh=1&redirect_uri=/keys`);
  const asked = await page.locator(nameField).isVisible();
  await fillIn(page);
  const info = await context.request.get(`${input.url}/api/info`, { headers: { accept: "application/json" } });
  return { asked, landed: new URL(page.url()).pathname, info: info.status() };
});
