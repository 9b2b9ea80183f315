import { input, signIn, story } from "./lib.mjs";

await story(async (page, context) => {
  await signIn(page);
  await page.waitForLoadState();
  const info = await context.request.get(`${input.url}/api/info`, { headers: { accept: "application/json" } });
  return { info: info.status(), text: (await page.locator("body").innerText()).slice(0, 500) };
});
