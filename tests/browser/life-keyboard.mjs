// The same by keyboard alone.
import { becomes, hears, input, signIn, story } from "./lib.mjs";

await story(async (page) => {
  await signIn(page, "/access");
  await page.getByTestId("panel-grants").waitFor();
  const keys = {};
  await page.keyboard.press("g");
  await page.keyboard.press("p");
  await page.getByTestId("panel-mine").waitFor();
  await hears(page);
  keys.elevations = new URL(page.url()).pathname;
  await page.keyboard.press("e");
  const form = page.getByTestId("elevate-form");
  await form.waitFor();
  await hears(page);
  await becomes(page, () => document.activeElement?.hasAttribute("name"));
  keys.focus = await page.evaluate(() => document.activeElement?.getAttribute("name"));
  await page.keyboard.type(input.cluster);
  const to = async (name) => {
    for (let i = 0; i < 30; i += 1) {
      if (await page.evaluate((n) => document.activeElement?.getAttribute("name") === n, name)) return;
      await page.keyboard.press("Tab");
    }
    throw new Error(`Tab does not reach ${name}`);
  };
  await to("rights");
  await to("life");
  await page.keyboard.press("ArrowRight");
  keys.life = await form.locator("input[name=life]:checked").getAttribute("value");
  await to("reason");
  await page.keyboard.type(input.reason);
  await to("ticket");
  await page.keyboard.press("Enter");
  await page.getByTestId("elevation").waitFor();
  keys.elevated = true;
  // The banner's button is reached, and ends it.
  const end = page.getByTestId("end-elevation");
  for (let i = 0; i < 40 && !(await end.evaluate((one) => one === document.activeElement)); i += 1) await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await end.waitFor({ state: "detached" });
  keys.ended = true;
  return { keys };
});
