import { input, signIn, story } from "./lib.mjs";

await story(async (page, context) => {
  await signIn(page, "/keys");
  const info = () => context.request.get(`${input.url}/api/info`, { headers: { accept: "application/json" } });
  const before = (await info()).status();
  const cookies = await context.cookies(input.url);
  const cookie = cookies.find((one) => one.name === "__Host-aro");
  // At the provider itself: the portal hears of it behind the browser's back.
  await page.goto(`${input.provider}/session/end`);
  await page.getByText("You are signed out").waitFor();
  return { before, cookie: `${cookie.name}=${cookie.value}` };
});
