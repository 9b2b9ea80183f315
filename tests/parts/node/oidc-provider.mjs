// An OpenID provider for tests: the certified oidc-provider with a plain login form and no consent page.
//
// Usage: node oidc-provider.mjs CONFIG.json     (the README beside the parts describes the file)
// Prints {"issuer": ...} on stdout when it answers; everything else goes to stderr.
import { createPrivateKey, generateKeyPairSync, randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import http from 'node:http';
import https from 'node:https';

// The library announces itself with console.info: keep stdout for the one line that the caller reads.
console.info = console.warn = console.error;
const { default: Provider, interactionPolicy } = await import('oidc-provider');

const config = JSON.parse(readFileSync(process.argv[2], 'utf8'));
const accounts = new Map(config.accounts.map((account) => [account.login, account]));

/** What a test wants changed while we run, from the file `control`; read anew for each request. */
function control() {
  try {
    return config.control ? JSON.parse(readFileSync(config.control, 'utf8')) : {};
  } catch {
    return {};
  }
}

// Our clock may be wrong by so many seconds.
const clock = Date.now;
Date.now = () => clock() + 1000 * (control().skew ?? 0);

/** The claims each scope brings. An account with too many groups to list has distributed claims in their place. */
const scopeClaims = {
  openid: ['sub'],
  profile: ['name', 'preferred_username', 'email', 'oid', 'tid'],
  groups: ['groups'],
};

function findAccount(_ctx, login) {
  const { disabled = [], groups = {} } = control();
  const account = disabled.includes(login) ? undefined : accounts.get(login);
  const theirs = groups[login] ?? account?.groups;
  return account && {
    accountId: login,
    claims: () => ({
      sub: login,
      name: account.name ?? login,
      preferred_username: login,
      ...(theirs && { groups: theirs }),
      ...account.claims,
    }),
  };
}

/** A grant for everything the client asks for, so that no consent page comes. */
async function loadExistingGrant(ctx) {
  const { client, provider, session, params, result } = ctx.oidc;
  const known = result?.consent?.grantId ?? session.grantIdFor(client.clientId);
  const grant = (known && (await provider.Grant.find(known)))
    ?? new provider.Grant({ clientId: client.clientId, accountId: session.accountId });
  grant.addOIDCScope(params.scope);
  await grant.save();
  return grant;
}

function signingKeys() {
  if (config.jwks) return config.jwks;
  // By way of PEM: Node 20 locks a key twice, for ever, when the collector frees the job that made the key during its export.
  const encoding = { publicKeyEncoding: { type: 'spki', format: 'pem' }, privateKeyEncoding: { type: 'pkcs8', format: 'pem' } };
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048, ...encoding });
  const kid = randomBytes(8).toString('hex');
  return { keys: [{ ...createPrivateKey(privateKey).export({ format: 'jwk' }), kid, use: 'sig', alg: 'RS256' }] };
}

const policy = interactionPolicy.base(); // sign-in and nothing else
policy.remove('consent');

const settings = {
  clients: config.clients.map((client) => ({
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    ...client,
  })),
  jwks: signingKeys(),
  cookies: { keys: [randomBytes(32).toString('hex')] },
  scopes: ['openid', 'offline_access', 'profile', 'groups'],
  claims: scopeClaims,
  conformIdTokenClaims: false, // claims of scopes go into the ID token, as Entra does
  pkce: { required: () => true },
  findAccount,
  loadExistingGrant,
  // The library drops offline_access unless the client asks for a consent page: give a token to anyone who may use one.
  issueRefreshToken: async (_ctx, client) => client.grantTypeAllowed('refresh_token'),
  interactions: { policy, url: (_ctx, interaction) => `/interaction/${interaction.uid}` },
  // The library refuses addresses of this machine; tests have no others.
  fetch: (url, { method, headers, body }) => new Promise((done, failed) => {
    const ca = config.ca && readFileSync(config.ca);
    const request = https.request(url, { method, headers: Object.fromEntries(headers), ca }, (answer) => {
      answer.resume().on('end', () => done({ status: answer.statusCode }));
    });
    request.on('error', failed).end(String(body ?? ''));
  }),
  features: {
    backchannelLogout: { enabled: true },
    clientCredentials: { enabled: true },
    // An application asks for a token for `resource`, and gets it as a JWT (RFC 8707, RFC 9068).
    resourceIndicators: {
      enabled: true,
      getResourceServerInfo: (_ctx, resource) => ({
        scope: 'api', audience: resource, accessTokenFormat: 'jwt', accessTokenTTL: 300, jwt: { sign: { alg: 'RS256' } },
      }),
    },
    devInteractions: { enabled: false },
    rpInitiatedLogout: {
      enabled: true,
      logoutSource: async (ctx, form) => { ctx.body = page('Signing out', logoutForm(form)); },
      postLogoutSuccessSource: async (ctx) => { ctx.body = page('Signed out', '<p>You are signed out.</p>'); },
    },
  },
  ttl: { AccessToken: 3600, IdToken: 3600, RefreshToken: 86400, Interaction: 3600, Session: 86400, Grant: 86400, ...config.ttl },
  renderError: async (ctx, out) => {
    ctx.type = 'html';
    ctx.body = page('Error', `<p role="alert">${escape(out.error)}: ${escape(out.error_description ?? '')}</p>`);
  },
};

function escape(text) {
  return String(text).replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);
}

function page(title, body) {
  return `<!doctype html><html lang="en"><meta charset="utf-8"><title>${title}</title><h1>${title}</h1>${body}</html>`;
}

function logoutForm(form) {
  return `${form}<button form="op.logoutForm" name="logout" value="yes" autofocus>Sign out</button>
<script>document.querySelector('button[name=logout]').click()</script>`;
}

function loginForm(login, problem) {
  return page('Sign in', `${problem ? `<p role="alert">${escape(problem)}</p>` : ''}<form method="post">
<p><label>Login <input name="login" value="${escape(login)}" required autofocus></label></p>
<p><label>Password <input name="password" type="password"></label></p>
<p><button type="submit">Sign in</button> <button name="cancel" value="yes" formnovalidate>Cancel</button></p></form>`);
}

async function readForm(req) {
  let text = '';
  for await (const chunk of req) {
    text += chunk;
    if (text.length > 65536) throw new Error('form too large');
  }
  return new URLSearchParams(text);
}

function sendPage(res, html) {
  res.writeHead(200, { 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-store' }).end(html);
}

async function interact(req, res) {
  const { params } = await provider.interactionDetails(req, res);
  if (req.method !== 'POST') return sendPage(res, loginForm(params.login_hint ?? ''));
  const form = await readForm(req);
  const finish = (result) => provider.interactionFinished(req, res, result, { mergeWithLastSubmission: false });
  if (form.has('cancel')) return finish({ error: 'access_denied', error_description: 'sign-in was cancelled' });
  const login = form.get('login') ?? '';
  const account = findAccount(undefined, login) && accounts.get(login);
  if (!account || account.password !== form.get('password')) {
    return sendPage(res, loginForm(login, 'Wrong login or password'));
  }
  return finish({ login: { accountId: login } });
}

/** The list of groups that does not fit into a token, for anyone who has an access token. */
function listGroups(req, res) {
  const known = req.headers.authorization?.startsWith('Bearer ');
  res.writeHead(known ? 200 : 401, { 'content-type': 'application/json' });
  res.end(JSON.stringify({ value: (config.listed ?? []).map((id) => ({ id })) }));
}

async function handle(req, res) {
  try {
    await new Promise((go) => setTimeout(go, control().delay ?? 0));
    if (req.url === '/groups') return listGroups(req, res);
    if (req.url.startsWith('/interaction/')) await interact(req, res);
    else await answer(req, res);
  } catch (error) {
    console.error(error);
    if (!res.headersSent) res.writeHead(400, { 'content-type': 'text/plain' }).end(String(error.message));
  }
}

const server = config.tls
  ? https.createServer({ cert: readFileSync(config.tls.cert), key: readFileSync(config.tls.key) }, handle)
  : http.createServer(handle);
await new Promise((ready, failed) => server.once('error', failed).listen(config.port ?? 0, '127.0.0.1', ready));
const issuer = `${config.tls ? 'https' : 'http'}://localhost:${server.address().port}`;
const provider = new Provider(issuer, settings);
const answer = provider.callback();
for (const event of ['server_error', 'grant.error', 'authorization.error', 'end_session.error']) {
  provider.on(event, (_ctx, error) => console.error(`${event}: ${error.message}: ${error.error_detail ?? error.error_description ?? ''}`));
}
process.on('SIGTERM', () => process.exit(0));
console.log(JSON.stringify({ issuer }));
