// A page that is open while its cluster changes: what changed comes by itself, what a reader does is not disturbed,
// it can be paused, and a session that ends leads to sign-in and back.
import { existsSync, writeFileSync } from "node:fs";
import { fillIn, input, nameField, signIn, story, violations } from "./lib.mjs";

const LIMIT = 90_000;

/** Asks the test for something and waits until it is done. */
async function ask(name) {
  writeFileSync(`${process.env.FOLDER}/${name}`, "");
  const until = Date.now() + LIMIT;
  while (!existsSync(`${process.env.FOLDER}/${name}.done`)) {
    if (Date.now() > until) throw new Error(`${name} was not done`);
    await new Promise((done) => setTimeout(done, 50));
  }
}

await story(async (page, context) => {
  await signIn(page, `${input.resource}/operators`);
  const bar = page.getByTestId("live");
  const is = (state) => page.locator(`#live[data-state=${state}]`).waitFor({ timeout: LIMIT });
  await is("live");
  const main = page.locator("#main");
  await main.getByText(input.operator, { exact: false }).first().waitFor();

  // Somebody is at work in the page: a field is filled in half, something is open.
  const field = main.locator("input[type=search], input[name=q]").first();
  const typing = (await field.count()) > 0;
  await page.evaluate(() => {
    const details = document.createElement("details");
    details.id = "opened-by-the-story";
    details.innerHTML = "<summary>more</summary><p>text</p>";
    document.querySelector("#main").append(details);
    details.open = true;
  });
  if (typing) {
    await field.focus();
    await page.keyboard.type("live-");
    await page.waitForURL(/q=live-/);
  }
  await ask("degrade");
  await main.getByText("The page must say this.").first().waitFor({ timeout: LIMIT });
  const typed = typing ? await field.inputValue() : "live-";
  const focused = typing ? await field.evaluate((el) => document.activeElement === el) : true;
  const open = await page.locator("#opened-by-the-story").evaluate((el) => el.open);
  const filtered = (await main.getByText("kube-apiserver", { exact: true }).count()) === 0;

  // Paused, nothing changes; going on, it is made up for.
  const pause = bar.locator("[data-act=pause]");
  await pause.click();
  await is("paused");
  await ask("while-paused");
  const paused = (await main.getByText("Said while it was paused.").count()) === 0;
  await pause.click();
  await main.getByText("Said while it was paused.").first().waitFor({ timeout: LIMIT });

  await ask("add");
  await main.getByText(input.other).first().waitFor({ timeout: LIMIT });
  const found = await violations(page);

  // The session ends elsewhere: the page says so, and sign-in comes back here.
  await page.evaluate(async () => {
    const info = await (await fetch("/api/info", { headers: { accept: "application/json" } })).json();
    await fetch("/api/logout", { method: "POST", headers: { "X-CSRF-Token": info.csrf }, redirect: "manual" });
  });
  const dialog = page.locator("dialog#session");
  await dialog.waitFor({ state: "visible", timeout: LIMIT });
  await dialog.locator("[data-act=sign-in]").click();
  await page.locator(nameField).or(bar).first().waitFor();
  if ((await page.locator(nameField).count()) > 0) await fillIn(page);
  await is("live");
  const back = new URL(page.url()).pathname;
  return { typed, focused, filtered, open, paused, back, violations: found };
});
