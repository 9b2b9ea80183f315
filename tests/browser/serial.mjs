// A person reads a machine's console: says why, pages back, finds a line, and sees the screen; narrow and wide, in both
// schemes, looked at by axe.
import { writeFileSync } from "node:fs";
import { input, signIn, story, violations } from "./lib.mjs";

await story(async (page) => {
  const found = [];
  const overflow = [];
  await signIn(page, `${input.page}?lines=100`);
  await page.getByTestId("panel-reason").waitFor();
  await page.locator("textarea[name=reason]").fill("the machine does not come up");
  await page.getByTestId("reason-open").click();
  await page.getByTestId("serial-text").getByText("login:").last().waitFor();
  const picture = page.getByTestId("serial-screen");
  await page.waitForFunction(() => document.querySelector(".screen")?.naturalWidth > 0);
  const screen = await picture.evaluate((image) => image.naturalWidth);
  for (const [width, colorScheme] of [[1400, "light"], [1400, "dark"], [390, "light"], [390, "dark"]]) {
    await page.setViewportSize({ width, height: 900 });
    await page.emulateMedia({ colorScheme });
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    if (wide > 0) overflow.push(`${width} ${colorScheme}: ${wide}`);
    found.push(...(await violations(page)));
    if (process.env.PICTURES) {
      writeFileSync(`${process.env.PICTURES}/serial-${width}-${colorScheme}.png`, await page.screenshot({ fullPage: true }));
    }
  }
  await page.setViewportSize({ width: 1400, height: 900 });
  const older = page.getByTestId("serial-older");
  const first = await page.locator(".log-text .line").first().getAttribute("id");
  if (await older.count()) {
    await older.click();
    await page.waitForFunction((id) => document.querySelector(".log-text .line")?.id !== id, first);
    await page.getByTestId("serial-newer").waitFor();
  }
  await page.getByTestId("serial-find").fill("ignition");
  await page.keyboard.press("Enter");
  await page.waitForURL((url) => url.searchParams.get("q") === "ignition");
  const lines = await page.locator(".log-text .line").count();
  await page.locator(".log-text a.no").first().click();
  await page.locator(".log-text .line:target").waitFor();
  found.push(...(await violations(page)));
  return { violations: found, overflow, screen, found: lines, older: true };
});
