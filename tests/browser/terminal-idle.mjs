// A person opens a shell and types nothing more.
import { input, signIn, story, violations } from "./lib.mjs";
import { LIMIT, picture } from "./terminals.mjs";

await story(async (page) => {
  await page.setViewportSize({ width: 1280, height: 800 });
  // Every note that ever stands beside the screen.
  await page.addInitScript(() => {
    window.notes = [];
    document.addEventListener("DOMContentLoaded", () => {
      const host = document.querySelector("[data-term-notes]");
      const look = () => {
        for (const note of host.children) window.notes.push([note.dataset.testid, note.textContent.replace(/\s+/g, " ")]);
      };
      if (host) new MutationObserver(look).observe(host, { childList: true, subtree: true, characterData: true });
    });
  });
  await signIn(page, `${input.resource}/terminal?machine=${input.machine}`);
  const why = page.locator("textarea[name=reason]");
  await page.locator("[data-terminal], textarea[name=reason]").first().waitFor();
  if (await why.count()) {
    await why.fill("the patience of the story");
    await page.getByTestId("terminal-open").click();
  }
  await page.locator("[data-terminal]").waitFor();
  await page.waitForFunction(() => document.querySelector("[data-terminal]").terminals?.chosen.state.is === "live", null, { timeout: LIMIT });
  await page.getByTestId("term-cut").waitFor({ timeout: LIMIT });
  await picture(page, "idle");
  return { violations: await violations(page), notes: await page.evaluate(() => window.notes) };
});
