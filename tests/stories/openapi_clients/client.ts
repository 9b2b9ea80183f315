// A client of the portal in TypeScript, typed by the served document: node client.js URL TOKEN CLUSTER.
// The compiler checks it in strict mode: an answer, a parameter or an error that the document does not describe does not compile.
import assert from 'node:assert/strict';
import createClient from 'openapi-fetch';
import type { components, paths } from './api.js';

type Problem = components['schemas']['Error'];

const [baseUrl, token, target] = process.argv.slice(2);
assert(baseUrl !== undefined && token !== undefined && target !== undefined);
const portal = createClient<paths>({ baseUrl, headers: { authorization: `Bearer ${token}` } });

/** What an answer carries, or its error in words. */
function value<T>(answer: { data?: T; error?: Problem; response: Response }): T {
  const { error, response } = answer;
  assert(answer.data !== undefined, `${response.status} ${error?.code}: ${error?.message}`);
  return answer.data;
}

/** The error of a call that is refused. */
function refused(answer: { data?: unknown; error?: Problem; response: Response }, status: number): Problem {
  assert.equal(answer.response.status, status, answer.error?.message);
  assert(answer.error !== undefined && answer.error.request_id !== undefined);
  return answer.error;
}

const info = value(await portal.GET('/api/info'));
assert.equal(typeof info, 'object');

const clusters = value(await portal.GET('/api/v1/clusters', { params: { query: { limit: 500, sort: 'name' } } }));
const cluster = clusters.items.find((one) => one.resourceId.toLowerCase() === target.toLowerCase());
assert(cluster !== undefined, `${target} is not among ${clusters.items.length}`);

const body = { target, kind: 'kubeconfig', rights: 'read', reason: 'story of generated clients', life: 600 } as const;
const issued = value(await portal.POST('/api/v1/grants', { body }));
assert(issued.token !== undefined && issued.server !== undefined);
const grant: components['schemas']['Grant'] = issued.grant;
assert.deepEqual([grant.state, grant.rights, grant.kind], ['active', 'read', 'kubeconfig']);
assert(!Number.isNaN(Date.parse(grant.not_after)));

const path = { id: grant.id };
const mine = value(await portal.GET('/api/v1/grants', { params: { query: { active: true } } }));
assert(mine.items.some((one) => one.id === grant.id));
const ended = value(await portal.DELETE('/api/v1/grants/{id}', { params: { path, query: { why: 'the story ends' } } }));
assert.equal(ended.state, 'revoked');
const detail = value(await portal.GET('/api/v1/grants/{id}', { params: { path } }));
assert.deepEqual([detail.state, detail.streams.length], ['revoked', 0]);

const unknown = await portal.GET('/api/v1/grants/{id}', { params: { path: { id: '0'.repeat(26) } } });
assert.deepEqual([refused(unknown, 404).code, unknown.error?.side], ['grant_not_found', 'you']);
const wrong = await portal.GET('/api/v1/elevations', { params: { query: { limit: 'many' as unknown as number } } });
assert(refused(wrong, 400).message.includes('limit'), wrong.error?.message);
const stranger = createClient<paths>({ baseUrl, headers: { authorization: 'Bearer nobody' } });
assert.equal(refused(await stranger.GET('/api/v1/grants'), 401).code, 'token_refused');

console.log(JSON.stringify({ clusters: clusters.items.length, grant: grant.id }));
