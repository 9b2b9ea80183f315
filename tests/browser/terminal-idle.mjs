// Nobody types at a terminal: the page says when it ends, takes word that somebody is there, and says why it ended.
import { input, signIn, story, violations } from "./lib.mjs";
import { LIMIT, becomes, picture, run, shows } from "./terminals.mjs";

await story(async (page) => {
  await signIn(page, `${input.resource}/terminal?namespace=default&pod=web`);
  await page.locator("textarea[name=reason]").fill("the idle terminal of the story");
  await page.getByTestId("terminal-open").click();
  await becomes(page, "live");
  await run(page, "echo here-$((6*7))");
  await shows(page, /^here-42$/m);
  const note = page.getByTestId("term-idle");
  await note.waitFor({ timeout: LIMIT });
  const told = await note.innerText();
  await note.getByRole("button", { name: "Stay" }).click();
  await note.waitFor({ state: "detached" });
  await run(page, "echo still-$((6*8))");
  await shows(page, /^still-48$/m);
  await note.waitFor({ timeout: LIMIT });
  const found = await violations(page);
  await picture(page, "idle");
  await becomes(page, "cut");
  const words = await page.getByTestId("term-cut").innerText();
  await picture(page, "idle-over");
  return { violations: found, told, words };
});
