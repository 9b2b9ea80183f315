import { input, signIn, story } from "./lib.mjs";

await story(async (page) => {
  await signIn(page, "/imported");
  const form = page.getByTestId("import-form");
  await form.waitFor();
  const landed = new URL(page.url()).pathname;
  await form.locator("textarea[name=kubeconfig]").fill(input.import.kubeconfig);
  await form.locator("input[name=name]").fill(input.import.name);
  await form.locator("input[name=as_groups]").fill(input.import.as_groups);
  await form.getByRole("button", { name: "Import" }).click();
  await page.getByTestId("imported-row").filter({ hasText: input.import.name }).waitFor();
  return { landed, page: await page.content() };
});
