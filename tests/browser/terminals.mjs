// What scripts at a terminal's page share.

export const LIMIT = 120_000;

export const picture = (page, name) => page.screenshot({ path: `${process.env.FOLDER}/terminal-${name}.png` });

/** As a click into the screen. */
export const focus = (page) => page.evaluate(() => document.querySelector("[data-terminal]").terminals.chosen.screen.terminal.focus());

/** Everything on the chosen screen and above it. */
export const screen = (page) =>
  page.evaluate(() => {
    const buffer = document.querySelector("[data-terminal]").terminals.chosen.screen.terminal.buffer.active;
    return Array.from({ length: buffer.length }, (_, at) => buffer.getLine(at).translateToString(true)).join("\n");
  });

export const state = (page) => page.evaluate(() => document.querySelector("[data-terminal]")?.terminals?.chosen.state.is);

/** Waits for text; says what was there instead. */
export async function shows(page, wanted) {
  const until = Date.now() + LIMIT;
  let seen = "";
  while (Date.now() < until) {
    seen = await screen(page);
    if (wanted.test(seen)) return seen;
    await page.waitForTimeout(100);
  }
  throw new Error(`${wanted} is not on the screen (${await state(page)}):\n${seen.slice(-2_000)}`);
}

export async function becomes(page, wanted) {
  const is = (wanted) => document.querySelector("[data-terminal]")?.terminals?.chosen.state.is === wanted;
  await page.waitForFunction(is, wanted, { timeout: LIMIT });
}

export async function run(page, line) {
  await page.keyboard.type(line);
  await page.keyboard.press("Enter");
}
