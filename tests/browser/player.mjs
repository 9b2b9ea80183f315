// Somebody looks for a recorded session and plays it: jump, find, speed, download; narrow and wide, in both schemes,
// looked at by axe.
import { writeFileSync } from "node:fs";
import { becomes, input, signIn, story, violations } from "./lib.mjs";

await story(async (page, context) => {
  await context.grantPermissions(["clipboard-read", "clipboard-write"]).catch(() => {});
  const found = [];
  const overflow = [];
  const look = async (name) => {
    for (const [width, colorScheme] of [[1400, "light"], [1400, "dark"], [390, "light"], [390, "dark"]]) {
      await page.setViewportSize({ width, height: 900 });
      await page.emulateMedia({ colorScheme });
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
      if (wide > 0) overflow.push(`${name} ${width} ${colorScheme}: ${wide}`);
      found.push(...(await violations(page)));
      if (process.env.PICTURES) {
        writeFileSync(`${process.env.PICTURES}/${name}-${width}-${colorScheme}.png`, await page.screenshot({ fullPage: true }));
      }
    }
    await page.setViewportSize({ width: 1400, height: 900 });
  };
  const screen = () => page.locator(".xterm-rows").innerText();
  const shows = (text) => becomes(page, (words) => document.querySelector(".xterm-rows")?.textContent?.includes(words), text);

  await signIn(page, "/recordings?q=of+eight");
  await page.getByTestId("recording-hit").first().waitFor();
  await look("recordings");
  await page.getByTestId("recording-row").locator("th a").first().click();
  await page.waitForURL((url) => url.pathname === `/recordings/${input.id}`);
  await page.locator(".xterm-rows").waitFor();
  await page.getByTestId("player-find").fill("LINE 8");
  await page.keyboard.press("Enter");
  await becomes(page, () => document.querySelector("[data-player-state]")?.textContent?.startsWith("1 of 1"));
  if (!(await shows("8 of eight"))) throw new Error(`not shown: ${await screen()}`);
  const begin = await screen();
  await look("player");
  await page.getByTestId("player-speed").selectOption("16");
  await page.getByTestId("player-toggle").click();
  if (!(await shows("the last line"))) throw new Error(`not played: ${await screen()}`);
  const end = await screen();
  await becomes(page, () => document.querySelector("[data-player-toggle]")?.getAttribute("aria-label") === "Play");
  await page.getByTestId("player-screen").focus();
  await page.keyboard.press("ArrowLeft");
  await becomes(page, () => document.querySelector("[data-player-time]")?.textContent?.startsWith("0:00"));
  const [download] = await Promise.all([page.waitForEvent("download"), page.getByTestId("recording-download").click()]);
  return {
    violations: found,
    overflow,
    begin,
    end,
    title: await page.title(),
    links: await page.locator("[data-player-screen] a").count(),
    clipboard: await page.evaluate(() => navigator.clipboard.readText().catch(() => "")),
    download: download.suggestedFilename(),
  };
});
