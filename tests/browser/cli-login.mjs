// A person lets the command line in: `input.page` is what `aro login` printed.
import { fillIn, input, story, violations } from "./lib.mjs";

await story(async (page) => {
  await page.goto(input.page);
  await fillIn(page);
  await page.getByTestId("agree").waitFor();
  const consent = await page.locator("body").innerText();
  const found = await violations(page);
  await page.screenshot({ path: `${process.env.FOLDER}/consent.png`, fullPage: true });
  await page.getByTestId("agree").click();
  await page.getByText("close this tab").waitFor();
  return { consent, last: await page.locator("body").innerText(), violations: found.concat(await violations(page)) };
});
