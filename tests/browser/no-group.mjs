import { input, signIn, story, violations } from "./lib.mjs";

await story(async (page, context) => {
  await signIn(page);
  await page.waitForLoadState();
  const text = await page.locator("body").innerText();
  const info = await context.request.get(`${input.url}/api/info`, { headers: { accept: "application/json" } });
  return { text, info: info.status(), violations: await violations(page) };
});
