import { input, signIn, story } from "./lib.mjs";

await story(async (page) => {
  await signIn(page, input.resource);
  await page.getByTestId("cluster-name").waitFor();
  const landed = page.url();
  const elsewhere = {};
  for (const address of ["https://example.invalid/", "//example.invalid/", "/\\example.invalid", "/%2f%2fexample.invalid", "javascript:alert(1)"]) {
    await page.goto(`${input.url}/api/login?redirect_uri=${encodeURIComponent(address)}`);
    await page.waitForLoadState();
    elsewhere[address] = page.url();
  }
  return { landed, elsewhere };
});
