// A program is let in: by redirect to this machine, and by letters.
import { createHash, randomBytes } from "node:crypto";
import http from "node:http";
import { input, signIn, story, violations } from "./lib.mjs";

const verifier = randomBytes(32).toString("base64url");
const challenge = createHash("sha256").update(verifier).digest("base64url");

/** A program's listener: the query of the request that came back. */
function listener() {
  return new Promise((ready) => {
    let came;
    const back = new Promise((done) => (came = done));
    const server = http.createServer((request, answer) => {
      came(new URL(request.url, "http://127.0.0.1").searchParams);
      answer.writeHead(200, { "content-type": "text/html" }).end("<!doctype html><title>Done</title><p>Done.</p>");
      server.close();
    });
    server.listen(0, "127.0.0.1", () => ready({ port: server.address().port, back }));
  });
}

await story(async (page, context) => {
  const found = [];
  const wide = [];
  const look = async (name) => {
    for (const scheme of ["light", "dark"]) {
      await page.emulateMedia({ colorScheme: scheme });
      for (const width of [1280, 390, 320]) {
        await page.setViewportSize({ width, height: 900 });
        if (await page.evaluate(() => document.scrollingElement.scrollWidth > document.documentElement.clientWidth)) wide.push({ name, width });
        if (width !== 320) found.push(...(await violations(page)));
        await page.screenshot({ path: `${process.env.FOLDER}/${name}-${width}-${scheme}.png`, fullPage: true, caret: "initial" });
      }
    }
  };
  const post = async (path, data) => {
    const answer = await context.request.post(input.url + path, { data, headers: { accept: "application/json" } });
    return { status: answer.status(), ...(await answer.json()) };
  };

  const ask = async () => {
    const { port, back } = await listener();
    const query = new URLSearchParams({ redirect_uri: `http://127.0.0.1:${port}/done`, state: "st-1", code_challenge: challenge });
    return { path: `/api/cli/login?${query}`, port, back };
  };

  // A deep link like any other: sign-in first, then the question.
  const first = await ask();
  await signIn(page, first.path);
  await page.getByTestId("panel-consent").waitFor();
  const named = (await page.getByTestId("panel-consent").innerText()).includes(`127.0.0.1:${first.port}`);
  await look("consent");
  await page.getByTestId("agree").click();
  const came = await first.back;
  const given = await post("/api/v1/login/token", { code: came.get("code"), code_verifier: verifier });
  const again = await post("/api/v1/login/token", { code: came.get("code"), code_verifier: verifier });

  const second = await ask();
  await page.goto(input.url + second.path);
  await page.getByTestId("refuse").click();
  const no = (await second.back).get("error");

  // By letters, typed as people type them.
  const device = await post("/api/v1/login/device", { client: "aro of a <b>story</b>" });
  await page.goto(`${input.url}/device`);
  await look("device");
  await page.getByRole("textbox", { name: "Code" }).fill("bbbb bbbb");
  await page.getByTestId("go-on").click();
  await page.getByRole("alert").waitFor();
  await look("device-wrong");
  await page.getByRole("textbox", { name: "Code" }).fill(device.user_code.toLowerCase().replace("-", " "));
  await page.getByTestId("go-on").click();
  const letters = await page.getByTestId("user-code").innerText();
  await look("letters");
  await page.getByTestId("agree").click();
  await page.getByText("Your program is signed in").waitFor();
  await look("let-in");
  const token = await post("/api/v1/login/token", { device_code: device.device_code });
  return {
    violations: found, wide, named, state: came.get("state"), given: given.status, token: token.token,
    again: again.code, no, letters: letters.trim() === device.user_code,
  };
});
